//! Conversations that get full, against a scripted server and a real store.

use plimsoll_agent::Row;
use plimsoll_testkit::provider::{Beat, Provider, Reply};
use plimsoll_wire::{ChatEnd, CompactionMode, FaultCode, GateReason, GateVerdict, ReadingKind, Replay};
use serde_json::{Value, json};

use super::{Ask, MODEL, Ship, end_of, to_the_end};
use crate::context::{self, Contexts, view};

/// About 3,000 tokens by four bytes each.
fn long_question() -> String {
    "The harbour master chose the blue buoy. "
        .repeat(300)
        .trim_end()
        .to_owned()
}

/// An answer whose prompt has so many tokens.
fn counted(words: &str, prompt: u32) -> Reply {
    let mut beats = vec![Beat::Text(words.to_owned())];
    beats.extend(Reply::ending("stop", prompt, 4, 40));
    Reply::Stream(beats)
}

impl Ship {
    async fn say(&self, text: &str, provider: &Provider) -> (ChatEnd, Option<FaultCode>) {
        let mut heard = self.bus.hear();
        // A person who writes has the word.
        self.contexts.stop_idle().await;
        self.ask(text, self.at(provider)).await;
        end_of(&to_the_end(&mut heard).await)
    }

    async fn messages(&self) -> Value {
        let mut opened = serde_json::to_value(self.opened().await).unwrap();
        opened["messages"].take()
    }

    async fn compactions(&self) -> Vec<plimsoll_store::Compaction> {
        self.store.compactions(&self.conversation).await.unwrap()
    }

    async fn view(&self, contexts: &Contexts) -> plimsoll_wire::ContextView {
        let opened = self.store.open_conversation(&self.conversation, 1).await.unwrap();
        let all = self.compactions().await;
        let live = contexts.of(&self.conversation).await.unwrap();
        let mut live = live.lock().await;
        live.set_policy(Some(plimsoll_agent::context::Policy::new(
            &crate::routes::local_route("http://127.0.0.1", MODEL, None).unwrap(),
            MODEL,
        )));
        live.set_rows(context::named_rows(&opened.messages));
        view::view(&mut live, &opened, &all)
    }

    /// Everything that was made up while nobody asked has ended.
    async fn quiet(&self) {
        self.contexts.stop_idle().await;
    }

    async fn replayed(&self) -> plimsoll_wire::ReplayReport {
        let live = self.contexts.of(&self.conversation).await.unwrap();
        live.lock().await.save(&self.store).await;
        let steps = self.store.context_steps(&self.conversation).await.unwrap();
        let replay = Replay {
            schema: 1,
            about: String::new(),
            steps: steps
                .iter()
                .map(|step| serde_json::from_str(step).unwrap())
                .collect(),
        };
        context::replay(&serde_json::to_vec(&replay).unwrap()).unwrap()
    }
}

fn texts(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn a_full_conversation_is_summarised_before_it_is_sent_and_nothing_is_lost() {
    let ship = Ship::launch().await;
    let provider = Provider::start([
        counted("Noted.", 3_100),
        counted("The master chose the blue buoy.", 2_900),
        counted("The blue one.", 300),
    ])
    .await;
    ship.say(&long_question(), &provider).await;
    ship.quiet().await;
    let before = ship.messages().await;
    assert_eq!(
        ship.say("Which buoy?", &provider).await,
        (ChatEnd::Complete, None)
    );

    let requests = provider.requests();
    assert!(texts(&requests[1])[0].contains("The harbour master chose the blue buoy."));
    let sent = texts(&requests[2]);
    assert_eq!(
        sent.len(),
        4,
        "instructions, the summary, what was short, the question: {sent:?}"
    );
    let summary = sent[1].find("The master chose the blue buoy.").unwrap();
    assert!(summary < sent[1].find("Nothing is lost").unwrap());
    assert_eq!(sent[3], "Which buoy?", "the newest message comes last");
    assert!(
        !sent.concat().contains("harbour master"),
        "what is summarised is not sent again"
    );

    let after = ship.messages().await;
    assert_eq!(
        before.as_array().unwrap()[..],
        after.as_array().unwrap()[..2],
        "no message was changed"
    );
    let made = ship.compactions().await;
    assert_eq!(made.len(), 1);
    // Whatever stands for it: found, and expanded word for word.
    let opened = ship.store.open_conversation(&ship.conversation, 1).await.unwrap();
    let rows = context::named_rows(&opened.messages);
    let found = view::search(&rows, &made, "HARBOUR buoy");
    assert_eq!(found.rows.len(), 1);
    assert!(found.rows[0].archived);
    let expanded = view::expand(&rows, &made, &made[0].id).unwrap();
    assert_eq!(expanded.rows.len(), 1);
    assert_eq!(expanded.rows[0].text, long_question());
    let view = ship.view(&ship.contexts).await;
    assert_eq!(
        (view.compactions[0].rows, view.reading.kind),
        (1, ReadingKind::Real)
    );
    assert_eq!(
        view.compactions[0].after.as_deref(),
        Some(opened.messages[0].id.as_str())
    );
    assert_eq!(view.reading.tokens, Some(340));
    let report = ship.replayed().await;
    assert_eq!(report.wrong, 0, "{:?}", report.lines);
    assert!(report.lines.iter().any(|line| {
        let decided = line.decision.as_ref().map(|it| it.verdict);
        decided == Some(GateVerdict::Compact)
    }));
}

#[tokio::test]
async fn an_undone_compaction_brings_every_word_back() {
    let ship = Ship::launch().await;
    let provider = Provider::start([
        counted("Noted.", 3_100),
        counted("A short summary.", 2_900),
        counted("Blue.", 300),
        counted("Yes.", 3_200),
    ])
    .await;
    ship.say(&long_question(), &provider).await;
    ship.quiet().await;
    ship.say("Which buoy?", &provider).await;
    ship.quiet().await;
    let id = ship.compactions().await[0].id.clone();
    assert_eq!(
        ship.store
            .undo_compaction(&ship.conversation, &id, 9)
            .await
            .unwrap(),
        1
    );
    {
        let live = ship.contexts.of(&ship.conversation).await.unwrap();
        let mut live = live.lock().await;
        live.load_compactions(&ship.store).await.unwrap();
        live.unblock();
        live.set_mode(CompactionMode::Off);
    }
    ship.say("Sure?", &provider).await;
    let sent = texts(&provider.requests()[3]);
    assert_eq!(sent[1], long_question());
    assert_eq!(sent.len(), 6);
}

/// Whatever goes wrong with the summary: the history is byte-equal to before, and the question is answered all the
/// same where it fits.
#[tokio::test]
async fn no_failure_of_a_summary_changes_the_history() {
    let call = Beat::call("c", "look", &json!({}));
    let longer = "longer ".repeat(4_000);
    let failures: Vec<(&str, Vec<Reply>)> = vec![
        (
            "fails",
            vec![Reply::Refuse(
                500,
                json!({"error": {"message": "no", "type": "server_error"}}),
            )],
        ),
        (
            "breaks",
            vec![Reply::Stream(vec![Beat::Text("It".into()), Beat::Cut])],
        ),
        (
            "is an error",
            vec![Reply::Stream(vec![Beat::Error(
                json!({"message": "no", "type": "server_error"}),
            )])],
        ),
        ("is empty", vec![counted("", 2_900)]),
        ("calls a tool", vec![Reply::calls([call])]),
        ("is longer", vec![counted(&longer, 2_900)]),
    ];
    for (what, replies) in failures {
        let ship = Ship::launch().await;
        let mut script = vec![counted("Noted.", 3_100)];
        script.extend(replies);
        script.push(counted("Blue.", 3_120));
        let provider = Provider::start(script).await;
        ship.say(&long_question(), &provider).await;
        ship.quiet().await;
        let before = ship.messages().await;
        assert_eq!(
            ship.say("Which buoy?", &provider).await,
            (ChatEnd::Complete, None),
            "{what}"
        );
        ship.quiet().await;
        let after = ship.messages().await;
        assert_eq!(
            before.as_array().unwrap()[..],
            after.as_array().unwrap()[..2],
            "{what}"
        );
        assert!(ship.compactions().await.is_empty(), "{what}");
        let requests = provider.requests();
        assert_eq!(texts(&requests[2])[1], long_question(), "{what}: sent as it was");
        let report = ship.replayed().await;
        assert_eq!(report.wrong, 0, "{what}");
    }
}

#[tokio::test]
async fn a_summary_that_is_stopped_leaves_everything_as_it_was() {
    let ship = Ship::launch().await;
    let hanging = Reply::Stream(vec![Beat::Text("So".into()), Beat::Hang]);
    let provider = Provider::start([counted("Noted.", 3_100), hanging, counted("Blue.", 3_120)]).await;
    ship.say(&long_question(), &provider).await;
    ship.quiet().await;
    let mut heard = ship.bus.hear();
    ship.ask("Which buoy?", ship.at(&provider)).await;
    while provider.requests().len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    ship.turns.stop(&ship.conversation);
    assert_eq!(end_of(&to_the_end(&mut heard).await), (ChatEnd::Stopped, None));
    provider.left(1).await;
    assert!(ship.compactions().await.is_empty());
    let live = ship.contexts.of(&ship.conversation).await.unwrap();
    live.lock().await.set_mode(CompactionMode::Manual);
    let mut heard = ship.bus.hear();
    ship.turns
        .start(
            &ship.conversation,
            Ask::Again,
            MODEL.to_owned(),
            ship.at(&provider),
        )
        .await
        .unwrap();
    assert_eq!(end_of(&to_the_end(&mut heard).await), (ChatEnd::Complete, None));
    assert_eq!(texts(&provider.requests()[2]).len(), 4, "all of it was sent");
}

#[tokio::test]
async fn what_the_server_refuses_for_its_length_is_cut_once_and_sent_once() {
    let ship = Ship::launch().await;
    let provider = Provider::start([
        counted("Noted.", 2_000),
        Reply::overflow(4_200, 4_096),
        counted("A short summary.", 2_900),
        counted("Blue.", 300),
    ])
    .await;
    ship.say(&long_question(), &provider).await;
    ship.quiet().await;
    assert_eq!(
        ship.say("Which buoy?", &provider).await,
        (ChatEnd::Complete, None)
    );
    assert_eq!(texts(&provider.requests()[3]).len(), 4);
    assert_eq!(ship.compactions().await.len(), 1);
    assert_eq!(ship.replayed().await.wrong, 0);
}

#[tokio::test]
async fn what_is_still_too_long_is_a_typed_fault_and_the_conversation_goes_on() {
    let ship = Ship::launch().await;
    let provider = Provider::start([Reply::overflow(9_000, 4_096)]).await;
    let ended = ship.say("Tell me everything.", &provider).await;
    assert_eq!(ended, (ChatEnd::Failed, Some(FaultCode::ContextExceeded)));
    ship.quiet().await;
    let huge = "word ".repeat(20_000);
    assert_eq!(
        ship.say(&huge, &provider).await,
        (ChatEnd::Failed, Some(FaultCode::ContextExceeded)),
        "named before it is sent"
    );
    assert_eq!(provider.requests().len(), 1, "nothing was sent for it");
}

#[tokio::test]
async fn a_count_outlives_the_app_and_dies_with_a_changed_row() {
    let ship = Ship::launch().await;
    let provider = Provider::start([counted("Noted.", 900)]).await;
    ship.say("How deep is the sea?", &provider).await;
    ship.quiet().await;
    ship.replayed().await;
    let anew = Contexts::new(
        ship.store.clone(),
        ship.bus.clone(),
        ship.root.as_ref().unwrap().scope(),
    );
    let view = ship.view(&anew).await;
    assert_eq!(
        (view.reading.kind, view.reading.tokens),
        (ReadingKind::Real, Some(940))
    );
    assert_eq!(view.window, Some(4_096));

    let live = Contexts::new(
        ship.store.clone(),
        ship.bus.clone(),
        ship.root.as_ref().unwrap().scope(),
    );
    let live = live.of(&ship.conversation).await.unwrap();
    let mut live = live.lock().await;
    live.set_policy(Some(plimsoll_agent::context::Policy::new(
        &crate::routes::local_route("http://127.0.0.1", MODEL, None).unwrap(),
        MODEL,
    )));
    let opened = ship.store.open_conversation(&ship.conversation, 1).await.unwrap();
    let mut rows = context::named_rows(&opened.messages);
    rows[0].row = Row::User(vec![plimsoll_agent::Part::text("How wide is the sea?")]);
    live.set_rows(rows);
    assert_eq!(live.look().unwrap().reading.kind, ReadingKind::Rough);
    live.save(&ship.store).await;
    let kept = ship.store.context(&ship.conversation).await.unwrap();
    assert_eq!(kept.state, None, "and the store forgets it");
}

#[tokio::test]
async fn a_compaction_that_cannot_be_written_down_does_not_hold() {
    let ship = Ship::launch().await;
    let provider = Provider::start([counted("Noted.", 900)]).await;
    ship.say("How deep is the sea?", &provider).await;
    ship.quiet().await;
    let before = ship.messages().await;
    let written = ship.store.add_compaction("nowhere", "k", "{}".into(), 1).await;
    assert!(written.is_err());
    ship.store
        .add_compaction(&ship.conversation, "k", "{}".into(), 1)
        .await
        .unwrap();
    let twice = ship
        .store
        .add_compaction(&ship.conversation, "k", "{\"row\": \"x\"}".into(), 2)
        .await;
    assert!(twice.is_err(), "all of it or nothing");
    assert_eq!(ship.compactions().await[0].body, "{}");
    assert_eq!(before, ship.messages().await);
}

#[tokio::test]
async fn switched_off_it_is_told_once_and_sent() {
    let ship = Ship::launch().await;
    let provider = Provider::start([counted("Noted.", 5_000), counted("Blue.", 5_100)]).await;
    let live = ship.contexts.of(&ship.conversation).await.unwrap();
    live.lock().await.set_mode(CompactionMode::Off);
    drop(live);
    ship.say("How deep is the sea?", &provider).await;
    ship.quiet().await;
    ship.say("And now?", &provider).await;
    let live = ship.contexts.of(&ship.conversation).await.unwrap();
    let decision = live.lock().await.decision.clone().unwrap();
    assert_eq!(
        (decision.verdict, decision.reason),
        (GateVerdict::Warn, GateReason::Off)
    );
    assert_eq!(texts(&provider.requests()[1]).len(), 4);
}
