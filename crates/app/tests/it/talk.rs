//! Conversations that branch, are found again, are asked in their own way, and travel.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_app::App;
use plimsoll_testkit::provider::{Dialect, Provider, Reply, Speaks};
use plimsoll_wire::{
    AnswerAgain, ChatSettings, Conversation, CreateConversation, EmptyTrash, Event, ExportConversation,
    FaultCode, ImportConversation, ListConversations, MarkdownWords, OpenConversation, ProviderProtocol,
    ReadChatSettings, SearchConversations, SetChatSettings, SetModelSettings, ShowBranch, StartTurn,
    ThinkingChoice, ThinkingWish,
};
use serde_json::Value;

use crate::providers::{app, endpoint};

struct Talk {
    app: Arc<App>,
    provider: Provider,
    model: String,
    conversation: String,
    _home: tempfile::TempDir,
}

impl Talk {
    async fn begin(replies: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let app = app(home.path(), &[]).await;
        let replies: Vec<Reply> = replies.iter().map(|text| Reply::words(&[text])).collect();
        // A compatible server, as those are that a person adds.
        let speaks = Speaks::Chat(Dialect::OpenRouter);
        let provider = Provider::start_with(speaks, replies, Some("sesame".into())).await;
        let id = endpoint(&app, &provider, ProviderProtocol::OpenaiChat).await;
        let created = CreateConversation {
            model: None,
            settings: None,
        };
        let conversation = app.ask(created).await.unwrap().summary.id;
        Self {
            model: format!("@{id}/m"),
            app,
            provider,
            conversation,
            _home: home,
        }
    }

    /// Says it and waits for the whole answer; the question's id, the answer's, and what was told at the start.
    async fn say(&self, text: &str, instead: Option<&str>) -> (String, String, Event) {
        let mut heard = self.app.hear();
        let asked = StartTurn {
            conversation: self.conversation.clone(),
            text: text.into(),
            model: Some(self.model.clone()),
            instead: instead.map(str::to_owned),
        };
        self.app.ask(asked).await.unwrap();
        ended(&mut heard).await
    }

    async fn again(&self, message: Option<&str>) -> (String, String, Event) {
        let mut heard = self.app.hear();
        let asked = AnswerAgain {
            conversation: self.conversation.clone(),
            message: message.map(str::to_owned),
            model: Some(self.model.clone()),
        };
        self.app.ask(asked).await.unwrap();
        ended(&mut heard).await
    }

    async fn opened(&self) -> Conversation {
        let id = self.conversation.clone();
        self.app.ask(OpenConversation { id }).await.unwrap()
    }

    async fn shown(&self) -> Vec<String> {
        texts(&self.opened().await)
    }

    async fn show(&self, message: &str) -> Conversation {
        let call = ShowBranch {
            conversation: self.conversation.clone(),
            message: message.to_owned(),
        };
        self.app.ask(call).await.unwrap()
    }
}

fn texts(conversation: &Conversation) -> Vec<String> {
    conversation
        .messages
        .iter()
        .map(|message| message.text.clone())
        .collect()
}

async fn ended(heard: &mut plimsoll_app::Hearing) -> (String, String, Event) {
    let mut started = None;
    loop {
        let event = tokio::time::timeout(Duration::from_secs(30), heard.next())
            .await
            .unwrap()
            .unwrap();
        match &event {
            Event::TurnStarted { user, turn, .. } => {
                started = Some((user.id.clone(), turn.clone(), event.clone()));
            }
            Event::TurnEnded { fault, .. } => {
                assert_eq!(*fault, None);
                return started.unwrap();
            }
            _ => {}
        }
    }
}

/// What the model was asked, without the instructions.
fn asked(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    messages.iter().skip(1).map(text).collect()
}

#[tokio::test]
async fn an_edit_and_a_second_answer_leave_every_other_branch_as_it_was() {
    let talk = Talk::begin(&["1", "2", "II", "deux"]).await;
    talk.say("one", None).await;
    let (second, old_answer, _) = talk.say("two", None).await;

    let (edited, _, told) = talk.say("zwei", Some(&second)).await;
    assert_eq!(asked(&talk.provider.requests()[2]), ["one", "1", "zwei"]);
    let Event::TurnStarted { user, branch, .. } = told else {
        panic!("{told:?}")
    };
    let place = user.branch.unwrap();
    assert_eq!(
        (place.place, place.of, place.before),
        (2, 2, Some(second.clone()))
    );
    assert_eq!(branch, None, "the first answer to it");
    assert_eq!(user.parent, talk.opened().await.messages[2].parent);
    assert_eq!(talk.shown().await, ["one", "1", "zwei", "II"]);

    let back = talk.show(&second).await;
    assert_eq!(texts(&back), ["one", "1", "two", "2"]);
    assert_eq!(
        back.messages[2].branch.as_ref().unwrap().after.as_ref(),
        Some(&edited)
    );

    let (question, new_answer, told) = talk.again(Some(&old_answer)).await;
    assert_eq!(question, second);
    let Event::TurnStarted {
        branch: Some(branch), ..
    } = told
    else {
        panic!("{told:?}")
    };
    assert_eq!(
        (branch.place, branch.of, branch.before),
        (2, 2, Some(old_answer.clone()))
    );
    assert_eq!(talk.shown().await, ["one", "1", "two", "deux"]);
    assert_eq!(texts(&talk.show(&old_answer).await), ["one", "1", "two", "2"]);
    assert_eq!(texts(&talk.show(&new_answer).await), ["one", "1", "two", "deux"]);
    assert_eq!(texts(&talk.show(&edited).await), ["one", "1", "zwei", "II"]);
    talk.app.end().await;
}

#[tokio::test]
async fn words_lead_to_a_branch_that_is_not_shown() {
    let talk = Talk::begin(&["It carries Frachtgut.", "The sea."]).await;
    let (question, answer, _) = talk.say("What is a ship?", None).await;
    talk.say("What is water?", Some(&question)).await;
    let search = async |words: &str| {
        let call = SearchConversations {
            words: words.into(),
            trash: false,
        };
        talk.app.ask(call).await.unwrap().found
    };
    let found = search("fracht carries").await;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].hits, found[0].in_title), (1, false));
    let hits: Vec<&str> = found[0]
        .snippet
        .iter()
        .filter(|snip| snip.hit)
        .map(|snip| snip.text.as_str())
        .collect();
    assert_eq!(hits, ["carries", "Fracht"]);
    assert_eq!(found[0].message.as_ref(), Some(&answer));
    assert_eq!(
        texts(&talk.show(&answer).await),
        ["What is a ship?", "It carries Frachtgut."]
    );
    assert!(search("fracht sea").await.is_empty(), "not both in one message");
    talk.app.end().await;
}

#[tokio::test]
async fn a_conversation_is_asked_in_its_own_way_and_a_model_in_its_usual_one() {
    let talk = Talk::begin(&["a", "b", "c"]).await;
    talk.say("one", None).await;
    let plain = talk.provider.requests()[0].clone();
    assert!(
        plain.get("temperature").is_none(),
        "nobody said anything: {plain}"
    );

    let of_model = ChatSettings {
        temperature: Some(0.3),
        reply_max: Some(50),
        instructions: Some("Rhyme.".into()),
        ..ChatSettings::default()
    };
    let call = SetModelSettings {
        model: talk.model.clone(),
        settings: of_model.clone(),
    };
    talk.app.ask(call).await.unwrap();
    let own = ChatSettings {
        temperature: Some(1.1),
        thinking: Some(ThinkingWish::Low),
        ..ChatSettings::default()
    };
    let call = SetChatSettings {
        id: talk.conversation.clone(),
        settings: own.clone(),
    };
    talk.app.ask(call).await.unwrap();
    talk.say("two", None).await;
    let sent = talk.provider.requests()[1].clone();
    assert_eq!(
        (sent["temperature"].as_f64(), sent["max_tokens"].as_u64()),
        (Some(1.1), Some(50))
    );
    assert!(
        sent["messages"][0]["content"]
            .as_str()
            .unwrap()
            .ends_with("\n\nRhyme."),
        "{sent}"
    );
    assert_eq!(talk.opened().await.settings, own);

    let read = ReadChatSettings {
        id: Some(talk.conversation.clone()),
        model: talk.model.clone(),
    };
    let read = talk.app.ask(read).await.unwrap();
    assert_eq!((read.own, read.model), (own, of_model));
    assert_eq!(
        read.thinking,
        ThinkingChoice::None,
        "a plain endpoint of one's own says nothing of thinking"
    );

    let wrong = SetChatSettings {
        id: talk.conversation.clone(),
        settings: ChatSettings {
            temperature: Some(9.0),
            ..ChatSettings::default()
        },
    };
    assert_eq!(talk.app.ask(wrong).await.unwrap_err().code, FaultCode::BadRequest);
    // A model of the person's own server is not asked for titles: its cache is the conversation's.
    talk.say("three", None).await;
    assert_eq!(talk.provider.requests().len(), 3);
    talk.app.end().await;
}

#[tokio::test]
async fn a_document_comes_back_whole_and_goes_on_as_the_same_conversation() {
    let talk = Talk::begin(&["1", "II", "next", "next"]).await;
    let (first, _, _) = talk.say("one", None).await;
    talk.say("eins", Some(&first)).await;
    let export = |words: Option<MarkdownWords>, save: bool| ExportConversation {
        id: talk.conversation.clone(),
        words,
        save,
    };
    let document = talk.app.ask(export(None, false)).await.unwrap();
    assert_eq!(document.name, "one.json");
    let text = document.text.unwrap();
    let form: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&form["format"], &form["version"]),
        (&"plimsoll/conversation".into(), &1.into())
    );
    assert_eq!(form["messages"].as_array().unwrap().len(), 4);
    assert!(!text.contains("allowed") && !text.contains("sesame"), "{text}");

    let imported = talk
        .app
        .ask(ImportConversation { text: text.clone() })
        .await
        .unwrap();
    assert_ne!(imported.summary.id, talk.conversation);
    assert_eq!(texts(&imported), ["eins", "II"]);
    assert_eq!(imported.summary.model.as_ref(), Some(&talk.model));
    let place = imported.messages[0].branch.clone().unwrap();
    assert_eq!((place.place, place.of), (2, 2));

    // The same is sent for both.
    talk.say("go on", None).await;
    let other = Talk {
        conversation: imported.summary.id.clone(),
        ..talk
    };
    other.say("go on", None).await;
    let requests = other.provider.requests();
    assert_eq!(requests[2]["messages"], requests[3]["messages"]);

    let words = MarkdownWords {
        you: "Ich".into(),
        answer: "Antwort".into(),
        thought: "Gedacht".into(),
        tool: "Werkzeug".into(),
    };
    let markdown = ExportConversation {
        id: other.conversation.clone(),
        words: Some(words),
        save: true,
    };
    let saved = other.app.ask(markdown).await.unwrap();
    let path = saved.path.unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "# one\n\n## Ich\n\neins\n\n## Antwort\n\nII\n\n## Ich\n\ngo on\n\n## Antwort\n\nnext\n\n"
    );
    for bad in ["", "{}", &text.replace("\"version\": 1", "\"version\": 9")] {
        let fault = other
            .app
            .ask(ImportConversation { text: bad.into() })
            .await
            .unwrap_err();
        assert_eq!(fault.code, FaultCode::ConversationBad, "{bad}");
    }
    other.app.end().await;
}

#[tokio::test]
async fn the_trash_is_emptied_for_good() {
    let talk = Talk::begin(&[]).await;
    let id = talk.conversation.clone();
    talk.app
        .ask(plimsoll_wire::DeleteConversation { id: id.clone() })
        .await
        .unwrap();
    assert_eq!(talk.app.ask(EmptyTrash {}).await.unwrap().conversations, 1);
    let left = talk.app.ask(ListConversations { trash: true }).await.unwrap();
    assert!(left.conversations.is_empty());
    assert_eq!(
        talk.app.ask(OpenConversation { id }).await.unwrap_err().code,
        FaultCode::NotFound
    );
    talk.app.end().await;
}
