//! A title for a conversation, asked of the model that answered in it, beside the conversation and never in it.
//!
//! In a cloud this is a small request of its own. On this machine, and on a server of the person's own, it would
//! take the place of the conversation in the engine's memory wherever there is only one: there the first words
//! stay the title.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use plimsoll_agent::{
    ChatModel as _, Limits, ModelError, Piece, Request, RouteModel, Sampling, Thinking, Transcript,
};
use plimsoll_os::clock;
use plimsoll_store::{Opened, Role};
use plimsoll_wire::Event;

use crate::app::App;
use crate::fault::Failed;
use crate::routes::CloudName;
use crate::to_wire;
use crate::turns::ReadyModel;

const SYSTEM: &str = "You give conversations their titles. Answer with the title alone: at most six words, in the \
                      language of the conversation, without quotation marks.";
/// Of the question and of the answer each: what it is about stands at the beginning.
const EXCERPT_CHARS: usize = 1_500;
/// Some models think before they answer, even when they are asked not to.
const REPLY_TOKENS: u32 = 400;
const TIME_MAX: Duration = Duration::from_mins(1);
/// What is longer is no title.
const TITLE_CHARS_MAX: usize = 100;

impl App {
    /// Waits for the turn that was begun and then looks for a title, once in the life of a conversation.
    pub(crate) fn title_later(self: &Arc<Self>, conversation: &str) {
        let (this, conversation) = (Arc::clone(self), conversation.to_owned());
        self.jobs.keep(|stop| async move {
            let titled = async {
                this.turns.ended(&conversation).await;
                this.title(&conversation).await
            };
            tokio::select! { biased;
                () = stop.cancelled() => {}
                titled = tokio::time::timeout(TIME_MAX * 60, titled) => {
                    if let Ok(Err(failed)) = titled {
                        let fault = plimsoll_wire::Fault::from(failed);
                        // The first words are a title as well.
                        tracing::info!(code = ?fault.code, "no title was found");
                    }
                }
            }
        });
    }

    async fn title(&self, conversation: &str) -> Result<(), Failed> {
        if self.memo.settings().await?.titles == Some(false) || !self.store.wants_title(conversation).await? {
            return Ok(());
        }
        let opened = self.store.open_conversation(conversation, clock::now_s()).await?;
        let Some(name) = opened.conversation.model.as_deref().and_then(CloudName::read) else {
            return Ok(());
        };
        let Some(transcript) = question(&opened) else {
            return Ok(());
        };
        if self.routes.route(name).await?.0.own_server {
            return Ok(());
        }
        let ready = self.routes.ready(name).await?;
        let Ok(title) = tokio::time::timeout(TIME_MAX, ask(ready, transcript)).await else {
            return Ok(());
        };
        let Some(title) = title? else {
            return Ok(());
        };
        if let Some(changed) = self.store.title_by_model(conversation, &title).await? {
            self.bus.tell(Event::ConversationChanged {
                conversation: to_wire::conversation_summary(changed),
            });
        }
        Ok(())
    }
}

/// Without tools, without a cache key, without the conversation's rows: nothing of it is touched.
async fn ask(ready: ReadyModel, transcript: Transcript) -> Result<Option<String>, ModelError> {
    let request = Request {
        sampling: Sampling {
            reply_max: Some(REPLY_TOKENS),
            ..Sampling::default()
        },
        thinking: Thinking::Off,
        ..Request::new(&ready.name, transcript)
    };
    let model = RouteModel::new(ready.http, ready.route, Limits::default());
    let mut pieces = model.answer(request).await?;
    let mut text = String::new();
    while let Some(piece) = pieces.next().await {
        if let Piece::Text(more) = piece? {
            text.push_str(&more);
        }
    }
    Ok(clean(&text))
}

/// What the first question and its answer were about. Nothing where there is no answer yet, or more than one.
fn question(opened: &Opened) -> Option<Transcript> {
    let [user, answer] = &opened.messages[..] else {
        return None;
    };
    if user.role != Role::User || answer.text.trim().is_empty() {
        return None;
    }
    let excerpt = |text: &str| text.chars().take(EXCERPT_CHARS).collect::<String>();
    let mut transcript = Transcript::new(SYSTEM);
    transcript.user(&format!(
        "<question>\n{}\n</question>\n<answer>\n{}\n</answer>\n\nThe title:",
        excerpt(user.text.trim()),
        excerpt(answer.text.trim())
    ));
    Some(transcript)
}

/// The title in what a model wrote, if there is one.
fn clean(text: &str) -> Option<String> {
    // Thoughts that a server left in the text end with their tag.
    let text = text.rsplit_once("</think>").map_or(text, |(_, after)| after);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches("Title:").trim();
    let marks: &[char] = &['"', '\'', '“', '”', '„', '«', '»', '*', '#', '`', ' '];
    let title = line.trim_matches(marks).trim_end_matches('.').trim();
    let letters = title.chars().count();
    (letters > 0 && letters <= TITLE_CHARS_MAX).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use plimsoll_agent::{Patience, Sampling, Transcript};
    use plimsoll_testkit::provider::{Provider, Reply};

    use super::{ask, clean};
    use crate::routes::local_route;
    use crate::turns::ReadyModel;

    #[tokio::test]
    async fn a_title_is_asked_beside_the_conversation() {
        let provider = Provider::start([Reply::words(&["\"Tides", " and the Moon\"\n"])]).await;
        let ready = ReadyModel {
            slot: None,
            id: "m".into(),
            route: local_route(&provider.url(), "m", None).unwrap(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            by: "elsewhere".into(),
            name: "m".into(),
            window: None,
            sampling: Sampling::default(),
            patience: Patience::NONE,
        };
        let mut transcript = Transcript::new("Titles.");
        transcript.user("What are tides?");
        let title = ask(ready, transcript).await.unwrap();
        assert_eq!(title.as_deref(), Some("Tides and the Moon"));
        let sent = &provider.requests()[0];
        assert!(
            sent.get("tools").is_none() && sent.get("prompt_cache_key").is_none(),
            "{sent}"
        );
        assert!(sent.get("id_slot").is_none(), "{sent}");
        assert_eq!(sent["max_tokens"], 400);
    }

    #[test]
    fn the_title_is_what_is_left_without_ornaments() {
        assert_eq!(
            clean("\n\"Tides and the Moon.\"\n").as_deref(),
            Some("Tides and the Moon")
        );
        assert_eq!(clean("**Title: Ebbe**").as_deref(), Some("Title: Ebbe"));
        assert_eq!(clean("Title: „Ebbe und Flut“").as_deref(), Some("Ebbe und Flut"));
        assert_eq!(clean("<think>hm</think>\n# Hulls").as_deref(), Some("Hulls"));
        assert_eq!(clean("  \n "), None);
        assert_eq!(clean(&"word ".repeat(60)), None);
    }
}
