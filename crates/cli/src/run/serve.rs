use std::sync::Arc;

use plimsoll_web::{FRONT_PORT, Front};
use plimsoll_wire::{LoadModel, PlanWishes, ReadEndpoint, ReadRouter, Router, Served};

use super::news::News;
use super::{Session, or_interrupted};
use crate::failure::Failure;
use crate::lang::params;

/// Starts the router or adopts the one that runs, says where other apps reach it, and stays: when the router
/// was another process's and that one ends, this one becomes its owner.
pub(super) async fn serve(session: &Session, model: Option<String>) -> Result<(), Failure> {
    let mut hearing = session.app.hear();
    or_interrupted(session, async {
        session.app.keep_router().await?;
        if let Some(model) = model {
            session
                .ask(LoadModel {
                    model,
                    wishes: PlanWishes::default(),
                })
                .await?;
        }
        Ok(())
    })
    .await?;
    let mut interrupts = session.interrupts();
    let mut offer = Offer {
        session,
        front: None,
        told: None,
    };
    let ended = loop {
        if let Err(failure) = offer.look().await {
            break Err(failure);
        }
        tokio::select! {
            heard = changed(&mut hearing) => if !heard { break Ok(()) },
            () = interrupts.next() => break Err(Failure::Interrupted),
        }
    };
    if let Some(front) = offer.front {
        front.end().await;
    }
    ended
}

struct Offer<'a> {
    session: &'a Session,
    /// Ours, where no other process offers one.
    front: Option<Front>,
    told: Option<Served>,
}

impl Offer<'_> {
    async fn look(&mut self) -> Result<(), Failure> {
        let (pid, owned) = match self.session.ask(ReadRouter {}).await? {
            Router::Ready { pid, owned, .. } => (pid, owned),
            // It comes back by itself, or fails for good.
            Router::Off | Router::Starting | Router::Waiting { .. } => return Ok(()),
            Router::Failed { fault } => return Err(fault.into()),
        };
        let endpoint = self.session.ask(ReadEndpoint {}).await?;
        let url = match (&self.front, endpoint.url) {
            (Some(front), _) => front.url(),
            (None, Some(url)) if !owned => url,
            (None, _) => {
                let front = Front::start(Arc::clone(&self.session.app), FRONT_PORT).await?;
                self.front.insert(front).url()
            }
        };
        self.tell(Served {
            url,
            key: endpoint.key,
            pid,
        });
        Ok(())
    }

    /// One line for the program that started us; what changes later is for a person.
    fn tell(&mut self, served: Served) {
        let out = &self.session.out;
        match &self.told {
            None => out.json(&served),
            Some(told) if *told == served => return,
            Some(_) => out.note(&out.say(
                "serve.changed",
                &params! { url = served.url.clone(), pid = served.pid },
            )),
        }
        self.told = Some(served);
    }
}

/// Waits for news of the router; false when the app has ended.
async fn changed(hearing: &mut plimsoll_app::Hearing) -> bool {
    loop {
        match hearing.next().await.map(News::from) {
            Some(News::Router | News::Missed) => return true,
            Some(News::Transfer(_) | News::Compared(_) | News::Other) => {}
            None => return false,
        }
    }
}
