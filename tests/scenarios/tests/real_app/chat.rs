use plimsoll_testkit::real;
use plimsoll_wire::{
    ChatEnd, Event, FaultCode, ListConversations, OpenConversation, ReadStatus, StartSetup, StepState,
    StopTurn, UnloadModel,
};

use super::room::{QWEN, Room, SMOLLM2, next};

#[tokio::test(flavor = "multi_thread")]
async fn one_click_to_a_proven_model_and_a_real_answer() {
    let room = Room::with_engine().await;
    let before = room.app.ask(ReadStatus {}).await.unwrap();
    assert!(before.first_start);

    let mut heard = room.app.hear();
    let setup = StartSetup {
        model: "smollm2-135m-instruct".into(),
        quant: "Q4_1".into(),
        licence_accepted: false,
    };
    let begun = room.app.ask(setup).await.unwrap();
    let progress_of =
        |setup: &plimsoll_wire::Setup| setup.steps.iter().map(|step| step.state).collect::<Vec<_>>();
    assert_eq!(
        progress_of(&begun)[..2],
        [StepState::Done, StepState::Done],
        "both are here already"
    );
    let ended = loop {
        if let Event::SetupMoved { setup } = next(&mut heard).await
            && !setup.running
        {
            break setup;
        }
    };
    assert_eq!(ended.fault, None);
    assert!(ended.done, "{ended:?}");
    assert_eq!(progress_of(&ended), [StepState::Done; 4]);

    let now = room.app.ask(ReadStatus {}).await.unwrap();
    assert!(!now.first_start, "a model has answered here");
    assert_eq!(now.default_model.as_deref(), Some(SMOLLM2));
    let proof = room
        .loaded(SMOLLM2)
        .await
        .unwrap()
        .proof
        .expect("planned beside measured");
    assert!(proof.resident_bytes > 100 << 20, "{proof:?}");
    assert!(proof.decode_tps > 0.0 && proof.first_token_ms > 0.0);
    for kind in ["weights", "context", "compute"] {
        let part = proof.parts.iter().find(|part| part.code == kind).unwrap();
        assert!(
            part.planned_bytes > 0 && part.reported_bytes.is_some(),
            "{part:?}"
        );
    }

    let conversation = room.conversation(SMOLLM2).await;
    let answer = room
        .say(
            &conversation,
            "What is the capital of France? Answer in one word.",
        )
        .await;
    assert_eq!(answer.fault, None);
    assert_eq!(answer.end, Some(ChatEnd::Complete), "{answer:?}");
    assert!(!answer.text.trim().is_empty());
    assert!(answer.read.iter().all(|(done, total)| done <= total) && !answer.read.is_empty());
    let stats = answer.stats.unwrap();
    assert_eq!((stats.route.as_str(), stats.model.as_str()), ("local", SMOLLM2));
    assert!(
        stats.prompt_tokens.unwrap() > 10 && stats.completion_tokens.unwrap() > 0,
        "{stats:?}"
    );
    assert!(
        stats.first_token_ms.unwrap() > 0.0 && stats.decode_tps.unwrap() > 0.0,
        "{stats:?}"
    );
    assert_eq!(
        stats.window,
        room.loaded(SMOLLM2).await.unwrap().context,
        "the slot's window"
    );
    assert!(stats.window.unwrap() >= 512);

    let opened = room
        .app
        .ask(OpenConversation {
            id: conversation.clone(),
        })
        .await
        .unwrap();
    assert_eq!(opened.running, None);
    assert_eq!(
        opened.summary.title,
        "What is the capital of France? Answer in one word."
    );
    assert_eq!(opened.messages.len(), 2);
    assert_eq!(
        opened.messages[1].text, answer.text,
        "what was streamed is what was kept"
    );
    assert_eq!(opened.messages[1].end, Some(ChatEnd::Complete));
    assert_eq!(
        opened.messages[1].stats.as_ref().unwrap().prompt_tokens,
        stats.prompt_tokens
    );

    let second = room.say(&conversation, "And of Italy?").await.stats.unwrap();
    assert!(
        second.cached_tokens.unwrap() > 0,
        "the first turn is not read again: {second:?}"
    );
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_an_answer_frees_its_slot_and_keeps_what_came() {
    let room = Room::with_engine().await;
    let conversation = room.conversation(SMOLLM2).await;
    let mut heard = room.app.hear();
    let turn = room
        .start_turn(
            &conversation,
            "Tell me a very long story about a ship and its crew.",
        )
        .await
        .unwrap();
    let refused = room
        .start_turn(&conversation, "And another one.")
        .await
        .unwrap_err();
    assert_eq!(refused.code, FaultCode::Busy);

    let mut text = String::new();
    let (end, fault) = loop {
        match next(&mut heard).await {
            Event::TextAdded { text: more, .. } => {
                text += &more;
                room.app
                    .ask(StopTurn {
                        conversation: conversation.clone(),
                    })
                    .await
                    .unwrap();
            }
            Event::TurnEnded {
                turn: of, end, fault, ..
            } => {
                assert_eq!(of, turn);
                break (end, fault);
            }
            _ => {}
        }
    };
    assert_eq!((end, fault), (ChatEnd::Stopped, None));
    // The router's slots are looked at as seldom as they may be.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(room.busy_slots(SMOLLM2).await, 0, "the engine has stopped too");

    let opened = room
        .app
        .ask(OpenConversation {
            id: conversation.clone(),
        })
        .await
        .unwrap();
    assert_eq!(opened.messages[1].end, Some(ChatEnd::Stopped));
    assert_eq!(opened.messages[1].text, text, "not a word is lost");
    assert_eq!(
        room.say(&conversation, "Thank you.").await.fault,
        None,
        "the conversation goes on"
    );
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_model_answers_and_an_unloaded_one_comes_back() {
    let room = Room::with_engine().await;
    let qwen = room.import(real::QWEN_CODER).await;
    assert_eq!(qwen.id, QWEN, "the catalog knows it by its hash");
    let conversation = room.conversation(QWEN).await;
    // What so small a model says is its own affair; that it answers is ours.
    let answer = room
        .say(&conversation, "Write the number 7 and nothing else.")
        .await;
    assert!(answer.went_well(), "{answer:?}");

    room.app.ask(UnloadModel { model: QWEN.into() }).await.unwrap();
    assert!(!room.is_ready(QWEN).await);
    let again = room
        .say(&conversation, "Write the number 8 and nothing else.")
        .await;
    assert_eq!(again.fault, None, "the next message loads it again");
    assert!(room.is_ready(QWEN).await);
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_too_long_says_both_numbers() {
    let room = Room::with_engine().await;
    let conversation = room.conversation(SMOLLM2).await;
    room.say(&conversation, "Hello.").await;
    let window = room.loaded(SMOLLM2).await.unwrap().context.unwrap();
    let answer = room
        .say(&conversation, &"word ".repeat(window as usize * 2))
        .await;
    assert_eq!(answer.end, Some(ChatEnd::Failed));
    let fault = answer.fault.unwrap();
    assert_eq!(fault.code, FaultCode::ContextExceeded, "{fault:?}");
    let number = |name: &str| match fault.params.get(name) {
        Some(plimsoll_wire::Param::Whole(number)) => *number,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(number("window"), u64::from(window));
    assert!(number("prompt") > number("window"));
    let listed = room.app.ask(ListConversations { trash: false }).await.unwrap();
    assert_eq!(listed.conversations.len(), 1, "the session stays usable");
    room.app.end().await;
}
