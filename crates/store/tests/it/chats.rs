use plimsoll_store::{
    CostBy, End, Event, Finish, Limited, Message, Piece, Role, Shown, Store, StoreError, UsageRecord,
};
use serde_json::json;

use crate::fresh;

fn finish(end: End, at: i64) -> Finish {
    Finish {
        last: Piece::default(),
        end,
        stats: None,
        fault: None,
        at,
    }
}

/// One question and its whole answer.
async fn turn(store: &Store, conversation: &str, question: &str, answer: &str, at: i64) -> Message {
    store.add_user_message(conversation, question, at).await.unwrap();
    let begun = store.begin_answer(conversation, at).await.unwrap();
    store.append(&begun.id, Piece::text(answer)).await.unwrap();
    store
        .finish_answer(&begun.id, finish(End::Complete, at))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_turn_is_kept_word_by_word() {
    let (_folder, store) = fresh().await;
    let chat = store
        .create_conversation(Some("smollm2-135m:Q4_1".into()), 1)
        .await
        .unwrap();
    let question = store
        .add_user_message(&chat.id, "What floats?\nTell me.", 2)
        .await
        .unwrap();
    let answer = store.begin_answer(&chat.id, 3).await.unwrap();
    assert_eq!(answer.parent.as_ref(), Some(&question.id));
    for (text, reasoning) in [
        ("", "Hm"),
        ("Wood ", ", well"),
        ("", ""),
        ("floats", "."),
        ("", " Yes."),
    ] {
        let piece = Piece {
            text: text.into(),
            reasoning: reasoning.into(),
            ..Piece::default()
        };
        store.append(&answer.id, piece).await.unwrap();
    }
    let running = store.open_conversation(&chat.id, 4).await.unwrap();
    assert_eq!(running.running.as_ref(), Some(&answer.id));
    assert_eq!(
        running.messages[1].text, "Wood floats",
        "a running answer is shown as far as it is"
    );

    let end = Finish {
        last: Piece::text(" 🪵"),
        end: End::Complete,
        stats: Some(json!({"route": "local", "completionTokens": 5})),
        fault: None,
        at: 5,
    };
    let ended = store.finish_answer(&answer.id, end).await.unwrap();
    let opened = store.open_conversation(&chat.id, 6).await.unwrap();
    assert_eq!(opened.messages, [question, ended.clone()]);
    assert_eq!(
        (opened.running, opened.conversation.title.as_str()),
        (None, "What floats?")
    );
    assert_eq!(
        (ended.text.as_str(), ended.reasoning.as_str()),
        ("Wood floats 🪵", "Hm, well. Yes.")
    );
    assert_eq!(
        (ended.role, ended.end, ended.ended_at),
        (Role::Assistant, Some(End::Complete), Some(5))
    );
    assert_eq!(
        ended.stats,
        Some(json!({"route": "local", "completionTokens": 5}))
    );
    assert_eq!(opened.conversation.updated_at, 5);
}

#[tokio::test]
async fn everything_is_there_after_the_next_start() {
    let (folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    turn(&store, &chat.id, "one", "1", 2).await;
    turn(&store, &chat.id, "two", "2", 3).await;
    let before = store.open_conversation(&chat.id, 4).await.unwrap();
    let path = store.path().to_owned();
    drop(store);
    let again = Store::open(&path, 5).await.unwrap();
    assert_eq!(again.open_conversation(&chat.id, 6).await.unwrap(), before);
    let texts: Vec<&str> = before
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(texts, ["one", "1", "two", "2"]);
    drop(folder);
}

#[tokio::test]
async fn a_turn_begins_whole_or_not_at_all() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    let begun = store.begin_turn(&chat.id, "hi", "m", 2).await.unwrap();
    assert!(begun.before.is_empty());
    assert_eq!(begun.answer.parent.as_ref(), Some(&begun.user.id));
    let refused = store.begin_turn(&chat.id, "again", "other", 3).await.unwrap_err();
    assert!(matches!(refused, StoreError::AnswerRunning { .. }), "{refused:?}");
    let opened = store.open_conversation(&chat.id, 4).await.unwrap();
    assert_eq!(opened.messages, [begun.user.clone(), begun.answer.clone()]);
    assert_eq!(
        opened.conversation.model.as_deref(),
        Some("m"),
        "the refused turn left nothing"
    );

    store
        .finish_answer(&begun.answer.id, finish(End::Complete, 5))
        .await
        .unwrap();
    let second = store.begin_turn(&chat.id, "again", "other", 6).await.unwrap();
    let before: Vec<_> = second.before.iter().map(|message| &message.id).collect();
    assert_eq!(before, [&begun.user.id, &begun.answer.id]);
    let nowhere = store.begin_turn("nowhere", "hi", "m", 7).await.unwrap_err();
    assert!(
        matches!(nowhere, StoreError::NoConversation { .. }),
        "{nowhere:?}"
    );
}

#[tokio::test]
async fn a_question_is_answered_again_beside_its_first_answer() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    let nothing = store.begin_turn_again(&chat.id, "m", 2).await.unwrap_err();
    assert!(matches!(nothing, StoreError::NoQuestion { .. }), "{nothing:?}");

    let first = store.begin_turn(&chat.id, "hi", "m", 2).await.unwrap();
    let running = store.begin_turn_again(&chat.id, "m", 3).await.unwrap_err();
    assert!(matches!(running, StoreError::AnswerRunning { .. }), "{running:?}");
    store
        .finish_answer(&first.answer.id, finish(End::Failed, 3))
        .await
        .unwrap();

    let again = store.begin_turn_again(&chat.id, "other", 4).await.unwrap();
    assert_eq!((&again.user, again.before.len()), (&first.user, 0));
    assert_eq!(again.answer.parent.as_ref(), Some(&first.user.id));
    store
        .finish_answer(&again.answer.id, finish(End::Complete, 5))
        .await
        .unwrap();
    let opened = store.open_conversation(&chat.id, 6).await.unwrap();
    let shown: Vec<_> = opened.messages.iter().map(|message| &message.id).collect();
    assert_eq!(shown, [&first.user.id, &again.answer.id]);
    assert_eq!(opened.conversation.model.as_deref(), Some("other"));
    // What comes next stands behind the new answer.
    let next = store.begin_turn(&chat.id, "and?", "m", 7).await.unwrap();
    assert_eq!(next.user.parent.as_ref(), Some(&again.answer.id));
}

#[tokio::test]
async fn an_answer_ends_exactly_once() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    store.add_user_message(&chat.id, "hi", 2).await.unwrap();
    let answer = store.begin_answer(&chat.id, 3).await.unwrap();
    let second = store.begin_answer(&chat.id, 3).await.unwrap_err();
    assert!(matches!(second, StoreError::AnswerRunning { .. }), "{second:?}");
    let fault = json!({"code": "routeBroken"});
    let end = Finish {
        fault: Some(fault.clone()),
        ..finish(End::Failed, 4)
    };
    let ended = store.finish_answer(&answer.id, end).await.unwrap();
    assert_eq!((ended.end, ended.fault), (Some(End::Failed), Some(fault)));
    for late in [
        store
            .finish_answer(&answer.id, finish(End::Complete, 5))
            .await
            .unwrap_err(),
        store.append(&answer.id, Piece::text("late")).await.unwrap_err(),
    ] {
        assert!(matches!(late, StoreError::AlreadyEnded { .. }), "{late:?}");
    }
    let missing = store
        .append("no such answer", Piece::text("x"))
        .await
        .unwrap_err();
    assert!(matches!(missing, StoreError::NoMessage { .. }), "{missing:?}");
    store.begin_answer(&chat.id, 6).await.unwrap();
}

#[tokio::test]
async fn deleting_goes_to_the_trash_and_comes_back() {
    let (_folder, store) = fresh().await;
    let kept = store.create_conversation(None, 1).await.unwrap();
    let gone = store.create_conversation(None, 2).await.unwrap();
    turn(&store, &gone.id, "keep me", "yes", 3).await;
    let deleted = store.delete_conversation(&gone.id, 4).await.unwrap();
    assert_eq!(deleted.deleted_at, Some(4));
    let ids = async |shown| -> Vec<String> {
        store
            .conversations(shown)
            .await
            .unwrap()
            .into_iter()
            .map(|chat| chat.id)
            .collect()
    };
    assert_eq!(ids(Shown::Kept).await, std::slice::from_ref(&kept.id));
    assert_eq!(ids(Shown::Trash).await, std::slice::from_ref(&gone.id));

    assert_eq!(
        store.restore_conversation(&gone.id).await.unwrap().deleted_at,
        None
    );
    assert_eq!(
        ids(Shown::Kept).await,
        [gone.id.clone(), kept.id.clone()],
        "the latest change first"
    );
    assert_eq!(
        store.open_conversation(&gone.id, 5).await.unwrap().messages.len(),
        2
    );

    store.delete_conversation(&gone.id, 10).await.unwrap();
    assert_eq!(store.empty_trash(10).await.unwrap(), 0, "it is not that old yet");
    assert_eq!(store.empty_trash(11).await.unwrap(), 1);
    let missing = store.open_conversation(&gone.id, 12).await.unwrap_err();
    assert!(
        matches!(missing, StoreError::NoConversation { .. }),
        "{missing:?}"
    );
}

#[tokio::test]
async fn titles_and_models_can_be_changed() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    assert_eq!(chat.title, "");
    store.rename_conversation(&chat.id, "  Hulls  ", 2).await.unwrap();
    store
        .add_user_message(&chat.id, "another title?", 3)
        .await
        .unwrap();
    let begun = store.begin_turn(&chat.id, "which model?", "m", 4).await.unwrap();
    let named = store.conversation(&chat.id).await.unwrap();
    assert_eq!(begun.conversation.model.as_deref(), Some("m"));
    assert_eq!(
        (named.title.as_str(), named.model.as_deref(), named.updated_at),
        ("Hulls", Some("m"), 4)
    );
    let refused = store
        .rename_conversation(&chat.id, &"x".repeat(401), 5)
        .await
        .unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::TooLarge {
                what: Limited::TitleBytes,
                ..
            }
        ),
        "{refused:?}"
    );
    let missing = store.rename_conversation("nobody", "x", 5).await.unwrap_err();
    assert!(
        matches!(missing, StoreError::NoConversation { .. }),
        "{missing:?}"
    );
}

#[tokio::test]
async fn a_message_has_a_limit_also_when_it_comes_in_pieces() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    let huge = "x".repeat((64 << 20) + 1);
    let refused = store.add_user_message(&chat.id, &huge, 2).await.unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::TooLarge {
                what: Limited::MessageBytes,
                ..
            }
        ),
        "{refused:?}"
    );
    store.add_user_message(&chat.id, "hi", 2).await.unwrap();
    let answer = store.begin_answer(&chat.id, 3).await.unwrap();
    store
        .append(&answer.id, Piece::text("a".repeat(40 << 20)))
        .await
        .unwrap();
    let refused = store
        .append(&answer.id, Piece::text("b".repeat(40 << 20)))
        .await
        .unwrap_err();
    assert!(matches!(refused, StoreError::TooLarge { .. }), "{refused:?}");
    let ended = store
        .finish_answer(&answer.id, finish(End::Failed, 4))
        .await
        .unwrap();
    assert_eq!(ended.text.len(), 40 << 20, "what was there stays");
}

#[tokio::test]
async fn who_asks_at_once_is_served_in_turn() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    store.add_user_message(&chat.id, "count", 2).await.unwrap();
    let answer = store.begin_answer(&chat.id, 3).await.unwrap();
    let appends = (0..200).map(|n| {
        let (store, id) = (store.clone(), answer.id.clone());
        async move { store.append(&id, Piece::text(format!("{n} "))).await }
    });
    for done in futures_util::future::join_all(appends).await {
        done.unwrap();
    }
    let ended = store
        .finish_answer(&answer.id, finish(End::Complete, 4))
        .await
        .unwrap();
    let mut numbers: Vec<u32> = ended
        .text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>(), "not one piece is lost");
}

#[tokio::test]
async fn what_an_answer_is_made_of_and_what_it_took_are_kept_in_order() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    store.add_user_message(&chat.id, "Look it up.", 1).await.unwrap();
    let answer = store.begin_answer(&chat.id, 1).await.unwrap();
    let event = |body: &str| Event {
        kind: "row".into(),
        body: body.into(),
    };
    let usage = |input, cost| UsageRecord {
        route: "openai".into(),
        model: "gpt-5".into(),
        input,
        cost,
        ..UsageRecord::default()
    };
    let first = Piece {
        events: vec![event("\"call \u{1f30a}\""), event("[1, 2]")],
        usages: vec![usage(Some(20), Some((u64::MAX >> 1, CostBy::Prices)))],
        ..Piece::default()
    };
    store.append(&answer.id, first).await.unwrap();
    let open = store.open_conversation(&chat.id, 2).await.unwrap();
    assert_eq!(open.messages[1].events.len(), 2, "shown while it is written");
    let last = Piece {
        text: "Deep.".into(),
        events: vec![event("{}")],
        usages: vec![usage(None, None)],
        ..Piece::default()
    };
    let ended = store
        .finish_answer(
            &answer.id,
            Finish {
                last,
                ..finish(End::Complete, 3)
            },
        )
        .await
        .unwrap();
    let bodies: Vec<&str> = ended.events.iter().map(|event| event.body.as_str()).collect();
    assert_eq!(bodies, ["\"call \u{1f30a}\"", "[1, 2]", "{}"]);
    assert_eq!(
        store.usages(&answer.id).await.unwrap(),
        [
            usage(Some(20), Some((u64::MAX >> 1, CostBy::Prices))),
            usage(None, None)
        ],
        "unknown stays unknown"
    );
    let late = store
        .append(
            &answer.id,
            Piece {
                events: vec![event("{}")],
                ..Piece::default()
            },
        )
        .await;
    assert!(matches!(late, Err(StoreError::AlreadyEnded { .. })), "{late:?}");
}
