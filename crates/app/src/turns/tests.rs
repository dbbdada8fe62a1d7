//! Turns against a scripted server and a real store.

mod context;

use std::time::Duration;

use plimsoll_agent::{Patience, Sampling};
use plimsoll_os::jobs::Root;
use plimsoll_store::Store;
use plimsoll_testkit::provider::{Beat, Provider, Reply};
use plimsoll_units::Tokens;
use plimsoll_wire::{ChatEnd, Conversation, Event, FaultCode};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Answering, Approvals, Ask, Outcome, Question, ReadyModel, Streaming, Turns};
use crate::bus::{Bus, Hearing};
use crate::context::Contexts;
use crate::routes::local_route;
use crate::to_wire;

const MODEL: &str = "boat:Q4";

/// A model that is always ready, at a scripted server.
struct Scripted {
    streaming: Streaming,
    url: String,
}

impl Answering for Scripted {
    async fn answer(
        &self,
        conversation: &str,
        turn: &str,
        question: Question,
        stop: &CancellationToken,
    ) -> Outcome {
        let ready = ReadyModel {
            slot: None,
            id: question.model.clone(),
            route: local_route(&self.url, MODEL, None).unwrap(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            by: "local".to_owned(),
            name: MODEL.to_owned(),
            window: Some(Tokens(4_096)),
            sampling: Sampling::default(),
            patience: Patience::NONE,
        };
        self.streaming
            .stream(conversation, turn, question, ready, stop)
            .await
    }
}

struct Panics;

impl Answering for Panics {
    async fn answer(&self, _: &str, _: &str, _: Question, _: &CancellationToken) -> Outcome {
        panic!("a defect, on purpose")
    }
}

struct Ship {
    turns: Turns,
    store: Store,
    bus: Bus,
    approvals: Approvals,
    contexts: Contexts,
    root: Option<Root>,
    conversation: String,
    _folder: TempDir,
}

impl Ship {
    async fn launch() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("ship.db"), 1).await.unwrap();
        let conversation = store.create_conversation(None, 1).await.unwrap().id;
        let (root, bus) = (Root::new(), Bus::new());
        let turns = Turns::new(bus.clone(), store.clone(), root.scope());
        let contexts = Contexts::new(store.clone(), bus.clone(), root.scope());
        Self {
            turns,
            store,
            bus,
            approvals: Approvals::default(),
            contexts,
            root: Some(root),
            conversation,
            _folder: folder,
        }
    }

    fn at(&self, provider: &Provider) -> Scripted {
        let streaming = Streaming {
            bus: self.bus.clone(),
            store: self.store.clone(),
            approvals: self.approvals.clone(),
            contexts: self.contexts.clone(),
        };
        Scripted {
            streaming,
            url: provider.url(),
        }
    }

    async fn ask(&self, text: &str, answering: impl Answering) -> String {
        self.turns
            .start(&self.conversation, Ask::New(text), MODEL.to_owned(), answering)
            .await
            .unwrap()
    }

    async fn opened(&self) -> Conversation {
        to_wire::conversation(self.store.open_conversation(&self.conversation, 1).await.unwrap())
    }
}

/// The events of one turn, without summaries, up to its end.
async fn to_the_end(heard: &mut Hearing) -> Vec<Event> {
    up_to(heard, |event| matches!(event, Event::TurnEnded { .. })).await
}

/// The events, without summaries, up to the first of its kind.
async fn up_to(heard: &mut Hearing, is_last: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let waiting = tokio::time::timeout(Duration::from_secs(20), heard.next());
        let event = waiting.await.expect("something happens").expect("the bus lives");
        if matches!(event, Event::ConversationChanged { .. }) {
            continue;
        }
        let is_last = is_last(&event);
        events.push(event);
        if is_last {
            return events;
        }
    }
}

fn end_of(events: &[Event]) -> (ChatEnd, Option<FaultCode>) {
    match events.last() {
        Some(Event::TurnEnded { end, fault, .. }) => (*end, fault.as_ref().map(|fault| fault.code)),
        other => panic!("{other:?}"),
    }
}

fn text_of(events: &[Event]) -> String {
    let text = |event: &Event| {
        if let Event::TextAdded { text, .. } = event {
            Some(text.clone())
        } else {
            None
        }
    };
    events.iter().filter_map(text).collect()
}

#[tokio::test]
async fn what_is_heard_is_what_is_kept() {
    let ship = Ship::launch().await;
    let mut heard = ship.bus.hear();
    let mut beats = vec![
        Beat::Progress { done: 4, total: 20 },
        Beat::Reasoning("Hm. ".into()),
    ];
    beats.extend(["It ", "is ", "deep."].map(|word| Beat::Text(word.into())));
    beats.extend([
        Beat::Finish("stop"),
        Beat::Usage {
            prompt: 20,
            cached: 4,
            completion: 4,
        },
        Beat::Done,
    ]);
    let provider = Provider::start([Reply::Stream(beats)]).await;
    let turn = ship.ask("How deep is the sea?", ship.at(&provider)).await;
    let events = to_the_end(&mut heard).await;

    assert!(
        matches!(&events[0], Event::TurnStarted { turn: of, user, .. } if *of == turn && user.text == "How deep is the sea?")
    );
    assert!(matches!(
        &events[1],
        Event::PromptRead {
            done: 4,
            total: 20,
            ..
        }
    ));
    assert!(matches!(&events[2], Event::ReasoningAdded { text, .. } if text == "Hm. "));
    assert_eq!(text_of(&events), "It is deep.");
    assert_eq!(end_of(&events), (ChatEnd::Complete, None));

    let opened = ship.opened().await;
    let answer = &opened.messages[1];
    assert_eq!(
        (
            answer.id.as_str(),
            answer.text.as_str(),
            answer.reasoning.as_str()
        ),
        (turn.as_str(), "It is deep.", "Hm. ")
    );
    assert_eq!(answer.end, Some(ChatEnd::Complete));
    let stats = answer.stats.as_ref().unwrap();
    assert_eq!(
        (stats.prompt_tokens, stats.cached_tokens, stats.completion_tokens),
        (Some(20), Some(4), Some(4))
    );
    assert_eq!((stats.model.as_str(), stats.window), (MODEL, Some(4_096)));
    assert!(ship.turns.running().is_empty());
}

#[tokio::test]
async fn the_next_question_brings_the_whole_conversation_and_no_reasoning() {
    let ship = Ship::launch().await;
    let mut heard = ship.bus.hear();
    let thoughtful = Reply::Stream(vec![
        Beat::Reasoning("secret".into()),
        Beat::Text("Deep.".into()),
        Beat::Finish("stop"),
        Beat::Done,
    ]);
    let provider = Provider::start([thoughtful, Reply::words(&["Wide."])]).await;
    ship.ask("How deep?", ship.at(&provider)).await;
    to_the_end(&mut heard).await;
    ship.ask("How wide?", ship.at(&provider)).await;
    to_the_end(&mut heard).await;
    let requests = provider.requests();
    let first = requests[0]["messages"].as_array().unwrap();
    let second = requests[1]["messages"].as_array().unwrap();
    assert_eq!(
        second[..first.len()],
        first[..],
        "the prefix stays, byte for byte"
    );
    assert_eq!(
        second[first.len()],
        json!({"role": "assistant", "content": "Deep."})
    );
}

#[tokio::test]
async fn a_failure_in_the_middle_keeps_what_came_and_says_why() {
    let ship = Ship::launch().await;
    let mut heard = ship.bus.hear();
    let error = json!({"code": 500, "message": "compute failed", "type": "server_error"});
    let provider = Provider::start([Reply::Stream(vec![
        Beat::Text("It is".into()),
        Beat::Error(error),
    ])])
    .await;
    ship.ask("How deep?", ship.at(&provider)).await;
    let events = to_the_end(&mut heard).await;
    assert_eq!(end_of(&events), (ChatEnd::Failed, Some(FaultCode::RouteBroken)));
    let answer = ship.opened().await.messages.remove(1);
    assert_eq!(
        (answer.text.as_str(), answer.end),
        ("It is", Some(ChatEnd::Failed))
    );
    assert_eq!(answer.fault.map(|fault| fault.code), Some(FaultCode::RouteBroken));
    assert_eq!(answer.stats.unwrap().completion_tokens, None, "unknown, not 0");
}

#[tokio::test]
async fn a_long_answer_is_saved_on_the_way() {
    let ship = Ship::launch().await;
    let mut heard = ship.bus.hear();
    let provider = Provider::start([Reply::Stream(vec![
        Beat::Text("Once upon a time".into()),
        Beat::Hang,
    ])])
    .await;
    ship.ask("Tell me a story.", ship.at(&provider)).await;
    let saved = async {
        while ship.opened().await.messages[1].text.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), saved)
        .await
        .expect("a part is saved before the end");
    ship.turns.stop(&ship.conversation);
    assert_eq!(end_of(&to_the_end(&mut heard).await), (ChatEnd::Stopped, None));
    provider.left(1).await;
    assert_eq!(ship.opened().await.messages[1].text, "Once upon a time");
}

#[tokio::test]
async fn one_turn_at_a_time_in_a_conversation() {
    let ship = Ship::launch().await;
    let mut heard = ship.bus.hear();
    let provider = Provider::start([Reply::Stream(vec![Beat::Text("Well".into()), Beat::Hang])]).await;
    ship.ask("First.", ship.at(&provider)).await;
    up_to(&mut heard, |event| matches!(event, Event::TextAdded { .. })).await;
    let second = ship
        .turns
        .start(
            &ship.conversation,
            Ask::New("Second."),
            MODEL.to_owned(),
            ship.at(&provider),
        )
        .await;
    let fault: plimsoll_wire::Fault = second.unwrap_err().into();
    assert_eq!(fault.code, FaultCode::Busy);
    assert_eq!(
        ship.opened().await.messages.len(),
        2,
        "the refused message is not kept"
    );
    ship.turns.stop_and_wait(&ship.conversation).await;
    to_the_end(&mut heard).await;
    provider.left(1).await;
}

#[tokio::test]
async fn a_defect_still_ends_the_turn_once() {
    let ship = Ship::launch().await;
    let mut heard = ship.bus.hear();
    ship.ask("Hello.", Panics).await;
    assert_eq!(
        end_of(&to_the_end(&mut heard).await),
        (ChatEnd::Failed, Some(FaultCode::Internal))
    );
    assert!(ship.turns.running().is_empty());
    assert_eq!(ship.opened().await.messages[1].end, Some(ChatEnd::Failed));
}

#[tokio::test]
async fn the_end_of_the_app_stops_a_turn_in_order() {
    let mut ship = Ship::launch().await;
    let mut heard = ship.bus.hear();
    let provider = Provider::start([Reply::Stream(vec![Beat::Text("Well".into()), Beat::Hang])]).await;
    ship.ask("Hello.", ship.at(&provider)).await;
    loop {
        let event = heard.next().await.unwrap();
        if matches!(event, Event::TextAdded { .. }) {
            break;
        }
    }
    ship.root.take().unwrap().end(Duration::from_secs(5)).await;
    let answer = ship.opened().await.messages.remove(1);
    assert_eq!(
        (answer.text.as_str(), answer.end),
        ("Well", Some(ChatEnd::Stopped)),
        "not interrupted: it was written down"
    );
}

#[tokio::test]
async fn tokens_reach_the_page_in_batches() {
    let ship = Ship::launch().await;
    let mut heard = ship.bus.hear();
    let words: Vec<String> = (0..500).map(|n| format!("word{n} ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let provider = Provider::start([Reply::words(&words)]).await;
    ship.ask("Count.", ship.at(&provider)).await;
    let events = to_the_end(&mut heard).await;
    assert_eq!(text_of(&events), words.concat());
    let pieces = events
        .iter()
        .filter(|event| matches!(event, Event::TextAdded { .. }))
        .count();
    assert!(
        pieces < words.len() / 2,
        "{pieces} events for {} tokens",
        words.len()
    );
}
