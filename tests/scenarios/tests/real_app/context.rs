use plimsoll_wire::{
    ChatEnd, FaultCode, LoadModel, OpenConversation, PlanWishes, ReadContext, ReadingKind, ReplayReport,
    ReportContext, SearchArchive, UndoCompaction,
};

use super::room::{Room, SMOLLM2};

/// Of a turn, in tokens about 350.
fn log_entry(day: usize) -> String {
    let vessels = ["Albatros", "Möwe", "Sturmvogel", "Kormoran", "Basstölpel"];
    let vessel = vessels[day % vessels.len()];
    let mut text = format!(
        "Log of day {day}. The password of gate {day} is heron-{}. ",
        day * 7919 % 1000
    );
    for hour in 0..12 {
        text.push_str(&format!(
            "At {hour}:30 the {vessel} reported a depth of {}.{} fathoms near buoy {}. ",
            8 + (day + hour) % 9,
            (day * hour) % 10,
            day + hour
        ));
    }
    text.push_str("Answer with one short sentence.");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_of_several_windows_keeps_going() {
    keeps_going(9).await;
}

/// Several times the window, turn after turn: no message is refused or lost, every decision replays, what was
/// said first is still found.
async fn keeps_going(turns: usize) {
    let room = Room::with_engine().await;
    let wishes = PlanWishes {
        context: Some(2_048),
        ..PlanWishes::default()
    };
    let load = LoadModel {
        model: SMOLLM2.into(),
        wishes,
    };
    room.app.ask(load).await.unwrap();
    let conversation = room.conversation(SMOLLM2).await;
    let window = room.loaded(SMOLLM2).await.unwrap().context.unwrap();
    for day in 0..turns {
        let answer = room.say(&conversation, &log_entry(day)).await;
        assert_eq!(
            answer.fault.as_ref().map(|fault| fault.code),
            None::<FaultCode>,
            "day {day}"
        );
        assert!(
            matches!(
                answer.end,
                Some(ChatEnd::Complete | ChatEnd::Stopped | ChatEnd::Length)
            ),
            "day {day}: {answer:?}"
        );
    }
    let opened = room
        .app
        .ask(OpenConversation {
            id: conversation.clone(),
        })
        .await
        .unwrap();
    assert_eq!(opened.messages.len(), 2 * turns, "no message is lost");
    for (day, asked) in opened.messages.iter().step_by(2).enumerate() {
        assert_eq!(asked.text, log_entry(day));
    }
    let of = |conversation: &str| ReadContext {
        conversation: conversation.to_owned(),
    };
    let view = room.app.ask(of(&conversation)).await.unwrap();
    assert!(!view.compactions.is_empty(), "{view:?}");
    assert!(matches!(
        view.reading.kind,
        ReadingKind::Exact | ReadingKind::Real | ReadingKind::Anchored | ReadingKind::Rough
    ));
    assert_eq!(view.window, Some(window));
    let found = room
        .app
        .ask(SearchArchive {
            conversation: conversation.clone(),
            words: "password gate 0".into(),
        })
        .await
        .unwrap();
    assert!(
        found
            .rows
            .iter()
            .any(|row| row.text.contains("heron-0") && row.archived),
        "{found:?}"
    );

    let report = room
        .app
        .ask(ReportContext {
            conversation: conversation.clone(),
        })
        .await
        .unwrap();
    let file = serde_json::to_string(&report).unwrap();
    assert!(
        !file.contains("heron") && !file.contains("Albatros"),
        "no word of it is in a report"
    );
    let played: ReplayReport = plimsoll_app::replay(file.as_bytes()).unwrap();
    let wrong: Vec<_> = played
        .lines
        .iter()
        .filter(|line| !line.wrong.is_empty())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let sent = played.lines.iter().filter(|line| line.does == "send").count();
    let refused = played.lines.iter().filter(|line| line.does == "reject").count();
    println!(
        "{turns} turns in a window of {window}: {} compactions, {} of them forked, {sent} requests, {refused} refused for their length",
        view.compactions.len(),
        view.compactions.iter().filter(|line| line.forked).count()
    );
    assert!(sent >= turns);

    let first = view.compactions[0].id.clone();
    let undone = room
        .app
        .ask(UndoCompaction {
            conversation: conversation.clone(),
            id: first,
        })
        .await
        .unwrap();
    assert!(undone.compactions.is_empty(), "one click brings all of it back");
    room.app.end().await;
}
