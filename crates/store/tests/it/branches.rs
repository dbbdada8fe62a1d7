//! Other ways that a conversation went, words in all of them, and whole conversations on their way elsewhere.

use plimsoll_store::{End, Event, Finish, Piece, Role, Shown, Snip, Store, StoreError, UsageRecord};
use serde_json::json;

use crate::fresh;

async fn ended(store: &Store, answer: &str, text: &str, at: i64) {
    let finish = Finish {
        last: Piece::text(text),
        end: End::Complete,
        stats: None,
        fault: None,
        at,
    };
    store.finish_answer(answer, finish).await.unwrap();
}

/// A question and its answer behind what is shown; their ids.
async fn turn(store: &Store, chat: &str, question: &str, answer: &str, at: i64) -> (String, String) {
    let begun = store.begin_turn(chat, question, "m", at).await.unwrap();
    ended(store, &begun.answer.id, answer, at).await;
    (begun.user.id, begun.answer.id)
}

async fn shown(store: &Store, chat: &str) -> Vec<String> {
    let opened = store.open_conversation(chat, 100).await.unwrap();
    opened.messages.into_iter().map(|message| message.text).collect()
}

#[tokio::test]
async fn an_edit_in_the_middle_leaves_the_other_branch_as_it_was() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap().id;
    let (first, _) = turn(&store, &chat, "one", "1", 2).await;
    let (second, old_answer) = turn(&store, &chat, "two", "2", 3).await;
    let (third, _) = turn(&store, &chat, "three", "3", 4).await;

    let begun = store
        .begin_turn_instead(&chat, &second, "zwei", "m", 5)
        .await
        .unwrap();
    let before: Vec<_> = begun.before.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(
        before,
        ["one", "1"],
        "what followed the edited message is not asked about"
    );
    let place = &begun.branches[&begun.user.id];
    assert_eq!(
        (place.place, place.of, place.before.as_ref()),
        (2, 2, Some(&second))
    );
    let busy = store.show_branch(&chat, &second, 6).await.unwrap_err();
    assert!(matches!(busy, StoreError::AnswerRunning { .. }), "{busy:?}");
    ended(&store, &begun.answer.id, "II", 6).await;
    assert_eq!(shown(&store, &chat).await, ["one", "1", "zwei", "II"]);

    let back = store.show_branch(&chat, &second, 7).await.unwrap();
    assert_eq!(
        shown(&store, &chat).await,
        ["one", "1", "two", "2", "three", "3"],
        "to its newest end"
    );
    assert_eq!(back.branches[&second].after.as_ref(), Some(&begun.user.id));
    assert!(
        !back.branches.contains_key(&third),
        "what stands alone is no branch"
    );

    // An answer in the middle once more: it stands beside the first, and what followed that one is kept.
    let again = store
        .begin_turn_beside(&chat, &old_answer, "other", 8)
        .await
        .unwrap();
    assert_eq!(again.user.id, second);
    ended(&store, &again.answer.id, "deux", 9).await;
    assert_eq!(shown(&store, &chat).await, ["one", "1", "two", "deux"]);
    let place = &store.open_conversation(&chat, 9).await.unwrap().branches[&again.answer.id];
    assert_eq!((place.place, place.of), (2, 2));
    store.show_branch(&chat, &old_answer, 10).await.unwrap();
    assert_eq!(shown(&store, &chat).await.last().unwrap(), "3");

    // The first message of all can be edited too.
    let begun = store
        .begin_turn_instead(&chat, &first, "eins", "m", 11)
        .await
        .unwrap();
    assert!(begun.before.is_empty());
    ended(&store, &begun.answer.id, "I", 12).await;
    assert_eq!(shown(&store, &chat).await, ["eins", "I"]);
}

#[tokio::test]
async fn a_branch_of_another_conversation_is_not_shown_here() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap().id;
    let other = store.create_conversation(None, 1).await.unwrap().id;
    let (question, answer) = turn(&store, &other, "there", "yes", 2).await;
    for refused in [
        store.show_branch(&chat, &question, 3).await.unwrap_err(),
        store
            .begin_turn_instead(&chat, &question, "x", "m", 3)
            .await
            .unwrap_err(),
        store.begin_turn_beside(&chat, &answer, "m", 3).await.unwrap_err(),
        // An answer is not a person's to edit.
        store
            .begin_turn_instead(&other, &answer, "x", "m", 3)
            .await
            .unwrap_err(),
    ] {
        assert!(matches!(refused, StoreError::NoMessage { .. }), "{refused:?}");
    }
    assert!(shown(&store, &chat).await.is_empty());
}

#[tokio::test]
async fn words_are_found_in_titles_and_messages_on_every_branch() {
    let (_folder, store) = fresh().await;
    let hull = store.create_conversation(None, 1).await.unwrap().id;
    let (question, _) = turn(
        &store,
        &hull,
        "What is a Frachtschiff?",
        "A ship for freight, 货船.",
        2,
    )
    .await;
    let begun = store
        .begin_turn_instead(&hull, &question, "What is a keel?", "m", 3)
        .await
        .unwrap();
    ended(&store, &begun.answer.id, "The spine of a hull.", 4).await;
    let tea = store.create_conversation(None, 1).await.unwrap().id;
    turn(
        &store,
        &tea,
        "How is tea made?",
        "With hot water and a kettle on a ship.",
        9,
    )
    .await;
    store
        .rename_conversation(&tea, "Schiffszwieback", 10)
        .await
        .unwrap();

    let found = async |words: &str| store.search(words, Shown::Kept, 10).await.unwrap();
    let ids = async |words: &str| -> Vec<String> {
        found(words)
            .await
            .into_iter()
            .map(|one| one.conversation.id)
            .collect()
    };
    assert_eq!(
        ids("SCHIFF").await,
        [tea.clone(), hull.clone()],
        "the latest change first, parts of words, any case"
    );
    assert_eq!(
        ids("freight ship").await,
        std::slice::from_ref(&hull),
        "all of the words"
    );
    assert_eq!(ids("keel").await, std::slice::from_ref(&hull));
    assert_eq!(
        ids("货船").await,
        std::slice::from_ref(&hull),
        "shorter than the index knows"
    );
    assert_eq!(ids("of hull").await, std::slice::from_ref(&hull));
    assert!(ids("submarine").await.is_empty());
    assert!(ids("  ").await.is_empty());
    // What looks like a query is words.
    for odd in [
        "\"",
        "ship\" OR \"tea",
        "tea*",
        "-ship",
        "title:ship",
        "NEAR(a b)",
        "\0",
    ] {
        ids(odd).await;
    }

    let one = found("fracht").await.remove(0);
    assert_eq!(
        (one.hits, one.in_title, one.message.as_ref()),
        (1, true, Some(&question))
    );
    let hit = Snip {
        text: "Fracht".into(),
        hit: true,
    };
    assert!(one.snippet.contains(&hit), "{:?}", one.snippet);

    // An answer is found when it has ended, by all its words; what is deleted for good is not.
    let begun = store.begin_turn(&tea, "and cups?", "m", 20).await.unwrap();
    store
        .append(&begun.answer.id, Piece::text("porce"))
        .await
        .unwrap();
    ended(&store, &begun.answer.id, "lain", 21).await;
    assert_eq!(ids("porcelain").await, std::slice::from_ref(&tea));
    store.delete_conversation(&tea, 22).await.unwrap();
    assert!(ids("porcelain").await.is_empty());
    assert_eq!(
        store.search("porcelain", Shown::Trash, 10).await.unwrap().len(),
        1
    );
    store.empty_trash(100).await.unwrap();
    assert!(
        store
            .search("porcelain", Shown::Trash, 10)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(ids("keel").await, [hull]);
}

#[tokio::test]
async fn a_title_of_a_model_gives_way_to_a_person() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap().id;
    turn(&store, &chat, "please explain to me what a hull is", "…", 2).await;
    assert!(store.wants_title(&chat).await.unwrap());
    let titled = store
        .title_by_model(&chat, "Hulls explained")
        .await
        .unwrap()
        .unwrap();
    assert_eq!((titled.title.as_str(), titled.updated_at), ("Hulls explained", 2));
    assert!(!store.wants_title(&chat).await.unwrap());
    assert_eq!(store.title_by_model(&chat, "Again").await.unwrap(), None);
    store.rename_conversation(&chat, "Mine", 3).await.unwrap();
    assert_eq!(store.title_by_model(&chat, "Theirs").await.unwrap(), None);
    assert_eq!(store.conversation(&chat).await.unwrap().title, "Mine");
}

#[tokio::test]
async fn a_whole_conversation_comes_back_as_it_was_under_other_ids() {
    let (_folder, store) = fresh().await;
    let chat = store
        .create_conversation(Some("boat:Q4".into()), 1)
        .await
        .unwrap()
        .id;
    let (question, _) = turn(&store, &chat, "one", "1", 2).await;
    let begun = store
        .begin_turn_instead(&chat, &question, "eins", "m", 3)
        .await
        .unwrap();
    let piece = Piece {
        events: vec![Event {
            kind: "row".into(),
            body: "{\"a\":1}".into(),
        }],
        usages: vec![UsageRecord {
            route: "local".into(),
            model: "m".into(),
            input: Some(7),
            ..UsageRecord::default()
        }],
        ..Piece::text("I")
    };
    store.append(&begun.answer.id, piece).await.unwrap();
    ended(&store, &begun.answer.id, "", 4).await;
    store
        .set_conversation_settings(&chat, json!({"instructions": "Be brief."}))
        .await
        .unwrap();
    store
        .set_conversation_tools(&chat, json!({"allowed": ["*"]}))
        .await
        .unwrap();

    let whole = store.whole_conversation(&chat).await.unwrap();
    assert_eq!(whole.messages.len(), 4);
    let added = store.add_conversation(whole.clone()).await.unwrap();
    assert_ne!(added.id, chat);
    assert_eq!(
        added.tools, None,
        "what may be done is for the person here to say"
    );
    assert_eq!(added.settings, Some(json!({"instructions": "Be brief."})));
    let again = store.whole_conversation(&added.id).await.unwrap();
    let words = |whole: &plimsoll_store::Whole| -> Vec<_> {
        let one = |m: &plimsoll_store::WholeMessage| {
            (
                m.message.text.clone(),
                m.message.end,
                m.message.events.clone(),
                m.usages.clone(),
            )
        };
        whole.messages.iter().map(one).collect()
    };
    assert_eq!(words(&again), words(&whole));
    assert_eq!(shown(&store, &added.id).await, ["eins", "I"]);
    assert_eq!(store.search("eins", Shown::Kept, 10).await.unwrap().len(), 2);

    for spoil in [
        |whole: &mut plimsoll_store::Whole| whole.head = Some("nowhere".into()),
        |whole: &mut plimsoll_store::Whole| whole.messages.reverse(),
        |whole: &mut plimsoll_store::Whole| {
            whole.messages[1].message.parent = None;
        },
        |whole: &mut plimsoll_store::Whole| {
            let twice = whole.messages[0].clone();
            whole.messages.push(twice);
        },
    ] {
        let mut spoiled = whole.clone();
        spoil(&mut spoiled);
        let refused = store.add_conversation(spoiled).await.unwrap_err();
        assert!(matches!(refused, StoreError::Tangled { .. }), "{refused:?}");
    }
    assert_eq!(
        store.conversations(Shown::Kept).await.unwrap().len(),
        2,
        "nothing half came in"
    );
    assert_eq!(whole.messages[1].message.role, Role::Assistant);
}
