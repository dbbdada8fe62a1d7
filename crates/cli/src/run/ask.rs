use plimsoll_wire::{
    Answered, CreateConversation, DeleteConversation, Fault, FaultCode, Fix, LibraryModel, LibraryState,
    ListModels, LoadModel, MakePlan, Params, PlanWishes, Proof, ReadMachine, ReadRouter, ReadStatus, Router,
    StartTurn, Verdict,
};

use super::turn::{self, Ended, Silent};
use super::{Session, or_interrupted};
use crate::args::AskArgs;
use crate::failure::Failure;
use crate::show;

/// One real question, end to end: what is planned, what is answered and what it really took.
pub(super) async fn ask(session: &Session, args: AskArgs) -> Result<(), Failure> {
    // `args.check` is what makes this command; clap insists on it.
    let wishes = args.wishes();
    let question = args
        .text
        .unwrap_or_else(|| session.out.lang.text("check.aQuestion").to_owned());
    let model = match args.model {
        Some(model) => model,
        None => choose(session).await?,
    };
    let machine = session
        .ask(ReadMachine {
            fresh: false,
            measure: false,
        })
        .await?;
    let plan = MakePlan {
        model: model.clone(),
        wishes: wishes.clone(),
        machine: None,
        anchors: None,
    };
    let plan = session.ask(plan).await?;
    load(session, &model, &wishes).await?;
    let conversation = session
        .ask(CreateConversation {
            model: Some(model.clone()),
            settings: None,
        })
        .await?
        .summary
        .id;
    let asked = StartTurn {
        conversation: conversation.clone(),
        text: question.clone(),
        model: Some(model.clone()),
        instead: None,
    };
    let ended = turn::run(session, &mut session.interrupts(), asked, &mut Silent).await;
    let proof = proof(session, &model).await;
    // A check leaves no trace among the person's conversations.
    session.ask(DeleteConversation { id: conversation }).await?;
    let Ended {
        text,
        end,
        stats,
        fault,
    } = ended?;
    let seen = Answered {
        machine,
        plan,
        question,
        answer: text,
        end,
        stats,
        proof: proof?,
        fault,
    };
    session.out.answer(&seen, show::answered);
    match &seen.fault {
        Some(fault) => Err(fault.clone().into()),
        None if seen.answer.trim().is_empty() => Err(failed(FaultCode::RouteBroken)),
        None => Ok(()),
    }
}

async fn load(session: &Session, model: &str, wishes: &PlanWishes) -> Result<(), Failure> {
    let waiting = session.out.spinner();
    let mut hearing = session.app.hear();
    let loaded = or_interrupted(session, async {
        let load = session.ask(LoadModel {
            model: model.to_owned(),
            wishes: wishes.clone(),
        });
        tokio::pin!(load);
        loop {
            tokio::select! {
                loaded = &mut load => return loaded.map(drop),
                event = hearing.next() => {
                    if let Some(plimsoll_wire::Event::RouterChanged { router }) = event {
                        turn::loading(session, &router, &waiting);
                    }
                }
            }
        }
    })
    .await;
    waiting.finish_and_clear();
    loaded
}

/// The model that a new conversation would use, else the best one on disk that can chat.
async fn choose(session: &Session) -> Result<String, Failure> {
    if let Some(model) = session.ask(ReadStatus {}).await?.default_model {
        return Ok(model);
    }
    let library = session.ask(ListModels {}).await?;
    let usable = library
        .models
        .into_iter()
        .filter(|model| model.chat && model.state == LibraryState::Ready);
    usable
        .max_by_key(rank)
        .map(|model| model.id)
        .ok_or_else(|| failed(FaultCode::UnknownModel))
}

/// Fitting before spilling, larger before smaller.
fn rank(model: &LibraryModel) -> (u8, u64) {
    let fit = match model.plan.as_ref().map(|plan| plan.verdict) {
        Some(Verdict::Fits) => 2,
        Some(Verdict::Spills) => 1,
        Some(Verdict::TooBig) | None => 0,
    };
    (fit, model.bytes)
}

async fn proof(session: &Session, model: &str) -> Result<Option<Proof>, Failure> {
    match session.ask(ReadRouter {}).await? {
        Router::Ready { models, .. } => Ok(models
            .into_iter()
            .find(|loaded| loaded.id == model)
            .and_then(|loaded| loaded.proof)),
        Router::Off | Router::Starting | Router::Waiting { .. } | Router::Failed { .. } => Ok(None),
    }
}

fn failed(code: FaultCode) -> Failure {
    let fixes = vec![Fix::ChooseOtherModel, Fix::ImportFile];
    Fault {
        code,
        params: Params::new(),
        trace: Vec::new(),
        fixes,
    }
    .into()
}
