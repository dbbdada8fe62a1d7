//! Answers that do something on the way, through the app's front door.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_app::{App, Hearing};
use plimsoll_testkit::provider::{Beat, Dialect, Provider, Reply, Speaks};
use plimsoll_wire::{
    AnswerTool, ChatEnd, CreateConversation, Event, OpenConversation, ProviderProtocol, SetTools, StartTurn,
    StopTurn, ToolAnswer, ToolEffect, ToolSettings,
};
use serde_json::json;

use crate::providers::{app, endpoint};

struct Talk {
    app: Arc<App>,
    conversation: String,
    model: String,
}

impl Talk {
    async fn begin(home: &std::path::Path, provider: &Provider, folders: Vec<String>) -> Self {
        let app = app(home, &[]).await;
        let id = endpoint(&app, provider, ProviderProtocol::OpenaiChat).await;
        let conversation = app
            .ask(CreateConversation {
                model: None,
                settings: None,
            })
            .await
            .unwrap()
            .summary
            .id;
        let tools = ToolSettings {
            on: true,
            folders,
            allowed: Vec::new(),
        };
        app.ask(SetTools {
            id: conversation.clone(),
            tools,
        })
        .await
        .unwrap();
        Self {
            app,
            conversation,
            model: format!("@{id}/m"),
        }
    }

    async fn ask(&self, text: &str) -> Hearing {
        let heard = self.app.hear();
        self.app
            .ask(StartTurn {
                conversation: self.conversation.clone(),
                text: text.into(),
                model: Some(self.model.clone()),
                instead: None,
            })
            .await
            .unwrap();
        heard
    }

    async fn answer(&self, call: &str, answer: ToolAnswer) {
        self.app
            .ask(AnswerTool {
                conversation: self.conversation.clone(),
                call: call.into(),
                answer,
            })
            .await
            .unwrap();
    }
}

async fn until(heard: &mut Hearing, is_last: impl Fn(&Event) -> bool) -> Event {
    loop {
        let event = tokio::time::timeout(Duration::from_secs(20), heard.next())
            .await
            .unwrap()
            .unwrap();
        if is_last(&event) {
            return event;
        }
        assert!(
            !matches!(event, Event::TurnEnded { .. }),
            "ended too soon: {event:?}"
        );
    }
}

async fn ended(heard: &mut Hearing) -> ChatEnd {
    match until(heard, |event| matches!(event, Event::TurnEnded { .. })).await {
        Event::TurnEnded { end, .. } => end,
        _ => unreachable!(),
    }
}

async fn fake(replies: Vec<Reply>) -> Provider {
    Provider::start_with(Speaks::Chat(Dialect::OpenAi), replies, Some("sesame".into())).await
}

#[tokio::test]
async fn what_changes_a_file_is_shown_and_done_after_a_yes_and_kept() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let provider = fake(vec![
        Reply::calls([
            Beat::call("a", "calculate", &json!({"expression": "6 * 7"})),
            Beat::call(
                "b",
                "write_file",
                &json!({"path": "answer.txt", "content": "42\n"}),
            ),
        ]),
        Reply::words(&["It is 42."]),
        Reply::words(&["Bye."]),
    ])
    .await;
    let talk = Talk::begin(home.path(), &provider, vec![folder.path().display().to_string()]).await;
    let mut heard = talk.ask("Work it out and note it.").await;
    let asked = until(&mut heard, |event| matches!(event, Event::ToolAsked { .. })).await;
    let Event::ToolAsked {
        call, tool, effect, ..
    } = asked
    else {
        unreachable!()
    };
    assert_eq!((call.as_str(), tool.as_str()), ("b", "write_file"));
    assert!(
        matches!(&effect, ToolEffect::Writes { before: None, after, .. } if after == "42\n"),
        "{effect:?}"
    );
    assert!(!folder.path().join("answer.txt").exists(), "nothing before a yes");
    talk.answer("b", ToolAnswer::Once).await;
    assert_eq!(ended(&mut heard).await, ChatEnd::Complete);
    assert_eq!(
        std::fs::read_to_string(folder.path().join("answer.txt")).unwrap(),
        "42\n"
    );

    let opened = talk
        .app
        .ask(OpenConversation {
            id: talk.conversation.clone(),
        })
        .await
        .unwrap();
    let tools = &opened.messages[1].tools;
    assert_eq!(tools.len(), 2);
    assert_eq!(tools[0].result.as_ref().unwrap().text, "42");
    assert!(opened.tools.allowed.is_empty(), "once is once");
    // The next question brings calls and results along, in pairs.
    let mut heard = talk.ask("Thanks.").await;
    assert_eq!(ended(&mut heard).await, ChatEnd::Complete);
    let sent = &provider.requests()[2]["messages"];
    let roles: Vec<&str> = sent
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    );
    talk.app.end().await;
}

#[tokio::test]
async fn a_no_is_told_to_the_model_and_always_is_remembered() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |id: &str, text: &str| {
        Reply::calls([Beat::call(
            id,
            "write_file",
            &json!({"path": "a.txt", "content": text}),
        )])
    };
    let provider = fake(vec![
        write("a", "1"),
        write("b", "2"),
        write("c", "3"),
        Reply::words(&["Done."]),
    ])
    .await;
    let talk = Talk::begin(home.path(), &provider, vec![folder.path().display().to_string()]).await;
    let mut heard = talk.ask("Write.").await;
    for (call, answer) in [("a", ToolAnswer::No), ("b", ToolAnswer::Tool)] {
        until(&mut heard, |event| matches!(event, Event::ToolAsked { .. })).await;
        talk.answer(call, answer).await;
    }
    // The third is not asked any more.
    assert_eq!(ended(&mut heard).await, ChatEnd::Complete);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).unwrap(), "3");
    let refused = &provider.requests()[1]["messages"][3];
    assert_eq!(refused["content"], "the person did not allow it");
    let opened = talk
        .app
        .ask(OpenConversation {
            id: talk.conversation.clone(),
        })
        .await
        .unwrap();
    assert_eq!(opened.tools.allowed, ["write_file"]);
    talk.app.end().await;
}

#[tokio::test]
async fn a_turn_that_waits_for_the_person_can_be_stopped_and_the_half_pair_is_mended() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let provider = fake(vec![
        Reply::calls([Beat::call(
            "a",
            "write_file",
            &json!({"path": "a.txt", "content": "1"}),
        )]),
        Reply::words(&["I had not finished."]),
    ])
    .await;
    let talk = Talk::begin(home.path(), &provider, vec![folder.path().display().to_string()]).await;
    let mut heard = talk.ask("Write.").await;
    until(&mut heard, |event| matches!(event, Event::ToolAsked { .. })).await;
    talk.app
        .ask(StopTurn {
            conversation: talk.conversation.clone(),
        })
        .await
        .unwrap();
    assert_eq!(ended(&mut heard).await, ChatEnd::Stopped);
    assert!(!folder.path().join("a.txt").exists());
    let mut heard = talk.ask("And?").await;
    assert_eq!(ended(&mut heard).await, ChatEnd::Complete);
    let result = &provider.requests()[1]["messages"][3];
    assert_eq!(
        (result["role"].as_str(), result["tool_call_id"].as_str()),
        (Some("tool"), Some("a"))
    );
    talk.app.end().await;
}
