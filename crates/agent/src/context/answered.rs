use plimsoll_units::Tokens;

use super::account::Predicted;
use super::rates::{ImageLesson, Refused, TextLesson};
use super::{Account, Anchor, ReadingKind, Sent, Weight};

/// What a server counted of a request and its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Gross. `None` where nothing was counted.
    pub prompt: Option<Tokens>,
    pub completion: Option<Tokens>,
    /// Of the completion, what was thought.
    pub thought: Option<Tokens>,
    /// Of the answer's words, for what the server does not say of its thoughts.
    pub answer_bytes: u64,
    pub thought_bytes: u64,
    /// The parts of the count add up to it, as far as the server gives parts.
    pub provable: bool,
    /// As many images as the request had went over the wire.
    pub images_sent: bool,
}

impl Counted {
    /// Of a server whose numbers are taken as they are.
    #[must_use]
    pub fn new(prompt: Option<Tokens>, completion: Option<Tokens>) -> Self {
        Self {
            prompt,
            completion,
            provable: true,
            images_sent: true,
            ..Self::default()
        }
    }
}

/// What was made of a count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heard {
    /// It holds from now on.
    pub anchored: bool,
    /// Why it does not, where there was one.
    pub refused: Option<Refused>,
    pub text: Option<TextLesson>,
    pub image: Option<ImageLesson>,
    /// What was expected.
    pub predicted: Option<Tokens>,
}

impl Account {
    /// An answer came. One without a count leaves what was known.
    pub fn answered(&mut self, sent: &Sent, counted: Counted, now: i64) -> Heard {
        // The 0 of a server that counts nothing is no count.
        let prompt = counted.prompt.filter(|prompt| prompt.0 > 0);
        self.gate.answered(prompt.is_some());
        let Some(prompt) = prompt else {
            return Heard::default();
        };
        let mut heard = self.learn(sent, prompt, &counted);
        if heard.refused.is_some() {
            return heard;
        }
        let thought = counted.thought.or_else(|| {
            let bytes = counted.thought_bytes;
            (bytes > 0).then(|| Tokens(u32::try_from(self.rates.text(bytes)).unwrap_or(u32::MAX)))
        });
        self.rates_from_answer(&counted, thought);
        self.anchor_to(sent, prompt, ReadingKind::Real, now);
        if let Some(anchor) = &mut self.anchor {
            anchor.completion = counted.completion;
            anchor.thought = thought;
        }
        heard.anchored = true;
        self.gate.counted(prompt.0.into(), now);
        heard
    }

    /// The server counted the request without answering it.
    pub fn counted(&mut self, sent: &Sent, prompt: Tokens, now: i64) -> Heard {
        let mut heard = self.learn(sent, prompt, &Counted::new(Some(prompt), None));
        if heard.refused.is_none() {
            self.anchor_to(sent, prompt, ReadingKind::Exact, now);
            heard.anchored = true;
            self.gate.counted(prompt.0.into(), now);
        }
        heard
    }

    /// The request was too long. Its size, where the server said it, holds for the request that was sent.
    pub fn rejected(
        &mut self,
        sent: &Sent,
        prompt: Option<Tokens>,
        window: Option<Tokens>,
        now: i64,
    ) -> Heard {
        self.gate.overflowed();
        self.learned_window = window.or(self.learned_window);
        let Some(prompt) = prompt else {
            return Heard::default();
        };
        let mut heard = self.learn(sent, prompt, &Counted::new(Some(prompt), None));
        if heard.refused.is_none() {
            self.anchor_to(sent, prompt, ReadingKind::Rejected, now);
            heard.anchored = true;
            self.gate.counted(prompt.0.into(), now);
        }
        heard
    }

    fn anchor_to(&mut self, sent: &Sent, prompt: Tokens, source: ReadingKind, now: i64) {
        self.anchor = Some(Anchor {
            route: sent.route.clone(),
            rows: sent.rows,
            hash: sent.hash,
            head: sent.head,
            prompt,
            completion: None,
            thought: None,
            source,
            at: now,
        });
    }

    /// What the growth since the last count says about text and images.
    fn learn(&mut self, sent: &Sent, prompt: Tokens, counted: &Counted) -> Heard {
        let mut heard = Heard::default();
        if self.route.as_ref() != Some(&sent.route) || self.chain.hash_at(sent.rows) != Some(sent.hash) {
            heard.refused = Some(Refused::OtherRoute);
            return heard;
        }
        if !counted.provable {
            heard.refused = Some(Refused::GrossNotProvable);
            return heard;
        }
        let real = u64::from(prompt.0);
        let Some(before) = sent.predicted else {
            let has_images = sent.all.images.total() > 0;
            heard.image = has_images.then_some(Err(Refused::NoAnchor));
            heard.text = (!has_images).then(|| self.learn_whole(sent, real));
            return heard;
        };
        let expected = before.base.saturating_add(before.part);
        heard.predicted = Some(Tokens(u32::try_from(expected).unwrap_or(u32::MAX)));
        self.rates.predicted(expected, before.part, real);
        if before.weight == Weight::default() {
            return heard;
        }
        let growth = real.saturating_sub(before.base);
        if before.weight.images.total() == 0 {
            heard.text = Some(match changed(&before) {
                Some(why) => Err(why),
                None => self.rates.learn_text(before.weight, growth),
            });
        } else {
            heard.image = Some(match changed(&before) {
                Some(why) => Err(why),
                None if !counted.images_sent => Err(Refused::ImageDropped),
                None => self.rates.learn_images(before.weight, growth),
            });
        }
        heard
    }

    /// From a whole request without images, where most of it is the conversation and not the tools.
    fn learn_whole(&mut self, sent: &Sent, real: u64) -> TextLesson {
        let rows = sent.all.text_bytes.saturating_add(sent.all.thought_bytes);
        if self.rates.learned_per_byte().is_some() || sent.head.bytes() > rows {
            return Err(Refused::NoAnchor);
        }
        let mut weight = sent.all;
        weight.text_bytes = weight.text_bytes.saturating_add(sent.head.bytes());
        self.rates.learn_text(weight, real)
    }

    fn rates_from_answer(&mut self, counted: &Counted, thought: Option<Tokens>) {
        if counted.thought_bytes > 0 && counted.thought.is_none() {
            return;
        }
        if let Some(completion) = counted.completion {
            let words = completion
                .0
                .saturating_sub(thought.map_or(0, |thought| thought.0));
            self.rates.learn_from_answer(counted.answer_bytes, words.into());
        }
    }
}

fn changed(before: &Predicted) -> Option<Refused> {
    if before.tools_changed {
        Some(Refused::ToolsChanged)
    } else {
        before.system_changed.then_some(Refused::SystemChanged)
    }
}
