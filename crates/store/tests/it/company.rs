//! Two stores on one file, as the desktop app and the command line are.

use plimsoll_store::{End, Finish, Piece, Store, StoreError};

use crate::fresh;

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_write_at_once_and_both_are_heard() {
    let (_folder, one) = fresh().await;
    let two = Store::open(one.path(), 1).await.unwrap();
    let write = async |store: &Store, name: &str| {
        let chat = store.create_conversation(None, 1).await.unwrap();
        store.add_user_message(&chat.id, name, 2).await.unwrap();
        let answer = store.begin_answer(&chat.id, 3).await.unwrap();
        for n in 0..60 {
            store
                .append(&answer.id, Piece::text(format!("{n} ")))
                .await
                .unwrap();
        }
        let end = Finish {
            last: Piece::default(),
            end: End::Complete,
            stats: None,
            fault: None,
            at: 4,
        };
        store.finish_answer(&answer.id, end).await.unwrap();
        chat.id
    };
    let (first, second) = tokio::join!(write(&one, "one"), write(&two, "two"));
    for (reader, id) in [(&two, first), (&one, second)] {
        let opened = reader.open_conversation(&id, 5).await.unwrap();
        assert_eq!(opened.messages[1].text.split_whitespace().count(), 60);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_at_the_same_moment_makes_one_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.db");
    let opens = (0..8).map(|n| {
        let path = path.clone();
        async move { Store::open(&path, n).await }
    });
    let stores: Vec<Store> = futures_util::future::join_all(opens)
        .await
        .into_iter()
        .collect::<Result<_, StoreError>>()
        .unwrap();
    stores[0].create_conversation(None, 1).await.unwrap();
    assert_eq!(
        stores[7]
            .conversations(plimsoll_store::Shown::Kept)
            .await
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_closed_store_ends_its_own_running_answers_for_the_next_one() {
    let (_folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    store.add_user_message(&chat.id, "hi", 2).await.unwrap();
    let answer = store.begin_answer(&chat.id, 3).await.unwrap();
    store
        .append(
            &answer.id,
            Piece {
                text: "Half a".into(),
                reasoning: "thought".into(),
                ..Piece::default()
            },
        )
        .await
        .unwrap();
    let path = store.path().to_owned();
    drop(store);
    // The thread lets go of the file a moment later.
    loop {
        let next = Store::open(&path, 10).await.unwrap();
        let opened = next.open_conversation(&chat.id, 11).await.unwrap();
        if opened.running.is_none() {
            let last = &opened.messages[1];
            assert_eq!(
                (last.text.as_str(), last.reasoning.as_str()),
                ("Half a", "thought")
            );
            assert_eq!(last.end, Some(End::Interrupted));
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
