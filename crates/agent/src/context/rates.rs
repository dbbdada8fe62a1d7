use plimsoll_units::Tokens;
use serde::{Deserialize, Serialize};

use super::weight::{Images, SizeClass, Weight};

/// What an image costs until a server has said so.
pub const IMAGE_DEFAULT: Tokens = Tokens(1_500);
const IMAGE_LEAST: u64 = 64;
const IMAGE_MOST: u64 = 32_768;
/// A row's frame: its role and the marks around it.
const ROW_TOKENS: u64 = 4;
/// In millionths of a token: a token is about four bytes.
const BYTE_DEFAULT: u64 = 250_000;
/// No tokenizer is outside this: 20 bytes a token, or a token a byte and a half again.
const BYTE_LEAST: u64 = 50_000;
const BYTE_MOST: u64 = 1_500_000;
/// Below this a stretch says more about frames than about words.
const LESSON_BYTES_LEAST: u64 = 64;
/// How much of what was learned before stays with each lesson, in percent.
const KEPT_PERCENT: u64 = 80;
/// Sums are halved above this, so that they cannot overflow.
const SUM_MOST: u64 = 1 << 40;
/// So many residuals outside the band, and the route is not learnable.
const OUTSIDE_MOST: u8 = 3;

/// Errors of predictions in ten-thousandths, newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quantiles(Vec<i32>);

impl Quantiles {
    const MOST: usize = 64;

    pub fn add(&mut self, error: i32) {
        if self.0.len() == Self::MOST {
            self.0.remove(0);
        }
        self.0.push(error);
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// `percent` of all errors are at most this; `None` below eight of them.
    #[must_use]
    pub fn at(&self, percent: usize) -> Option<i32> {
        self.sorted_at(percent, |error| error)
    }

    /// The same of their sizes alone.
    #[must_use]
    pub fn size_at(&self, percent: usize) -> Option<i32> {
        self.sorted_at(percent, i32::saturating_abs)
    }

    fn sorted_at(&self, percent: usize, of: fn(i32) -> i32) -> Option<i32> {
        if self.0.len() < 8 {
            return None;
        }
        let mut sorted: Vec<i32> = self.0.iter().copied().map(of).collect();
        sorted.sort_unstable();
        let last = sorted.len() - 1;
        sorted.get((last * percent.min(100)).div_ceil(100)).copied()
    }
}

/// Why nothing was learned from a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Refused {
    /// No count of the rows before is known.
    NoAnchor,
    OtherRoute,
    ToolsChanged,
    SystemChanged,
    /// Images of several sizes came at once.
    MixedSizes,
    /// The parts of the count do not add up to it.
    GrossNotProvable,
    /// An earlier image was not sent.
    ImageDropped,
    /// More than a quarter of the growth is estimated text.
    TooMuchText,
    /// The price would be none that an image can have.
    OutsideBand,
    /// That happened too often on this route.
    NotLearnable,
    /// Too little came to learn from.
    TooLittle,
}

/// What was learned about text.
pub type TextLesson = Result<u64, Refused>;
/// What was learned about images: the new price.
pub type ImageLesson = Result<(SizeClass, Tokens), Refused>;

/// What is known of a route: how many tokens text and images cost there, and how wrong predictions were.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rates {
    /// Tokens and bytes of what was learned from, older lessons weighing less.
    text_tokens: u64,
    text_bytes: u64,
    images: [Option<Tokens>; 4],
    /// Residuals outside the band, one after the other.
    outside: u8,
    not_learnable: bool,
    /// Of the estimated part of each prediction.
    pub part_errors: Quantiles,
    /// Of the whole prediction.
    pub whole_errors: Quantiles,
}

impl Rates {
    /// Millionths of a token for a byte of text.
    #[must_use]
    pub fn per_byte(&self) -> u64 {
        self.learned_per_byte().unwrap_or(BYTE_DEFAULT)
    }

    /// `None` until something was learned.
    #[must_use]
    pub fn learned_per_byte(&self) -> Option<u64> {
        self.text_tokens
            .saturating_mul(1_000_000)
            .checked_div(self.text_bytes)
            .map(|rate| rate.clamp(BYTE_LEAST, BYTE_MOST))
    }

    /// What an image of this size costs here; `None` until a server has said so.
    #[must_use]
    pub fn learned_image(&self, class: SizeClass) -> Option<Tokens> {
        self.images.get(class.index()).copied().flatten()
    }

    /// The learned price, else that of another size, else the default.
    #[must_use]
    pub fn image(&self, class: SizeClass) -> Tokens {
        self.learned_image(class)
            .or_else(|| self.images.iter().flatten().max().copied())
            .unwrap_or(IMAGE_DEFAULT)
    }

    #[must_use]
    pub fn is_learnable(&self) -> bool {
        !self.not_learnable
    }

    /// Tokens of text alone.
    #[must_use]
    pub fn text(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.per_byte()).div_ceil(1_000_000)
    }

    /// Tokens of what rows weigh. Stored weights hold images by count, so a new price prices old rows anew.
    #[must_use]
    pub fn estimate(&self, weight: Weight) -> u64 {
        u64::from(weight.rows)
            .saturating_mul(ROW_TOKENS)
            .saturating_add(self.text(weight.text_bytes.saturating_add(weight.thought_bytes)))
            .saturating_add(self.images_cost(weight.images))
    }

    fn images_cost(&self, images: Images) -> u64 {
        SizeClass::ALL
            .into_iter()
            .map(|class| u64::from(images.of(class)).saturating_mul(self.image(class).0.into()))
            .fold(0, u64::saturating_add)
    }

    /// From rows without images that grew the count by this much.
    pub(super) fn learn_text(&mut self, weight: Weight, tokens: u64) -> TextLesson {
        let bytes = weight.text_bytes.saturating_add(weight.thought_bytes);
        let words = tokens.checked_sub(u64::from(weight.rows) * ROW_TOKENS);
        let Some(words) = words.filter(|_| bytes >= LESSON_BYTES_LEAST) else {
            return Err(Refused::TooLittle);
        };
        let rate = words
            .saturating_mul(1_000_000)
            .checked_div(bytes)
            .unwrap_or_default();
        if !(BYTE_LEAST..=BYTE_MOST).contains(&rate) {
            return Err(Refused::OutsideBand);
        }
        self.text_tokens =
            self.text_tokens / 100 * KEPT_PERCENT + self.text_tokens % 100 * KEPT_PERCENT / 100 + words;
        self.text_bytes =
            self.text_bytes / 100 * KEPT_PERCENT + self.text_bytes % 100 * KEPT_PERCENT / 100 + bytes;
        if self.text_bytes > SUM_MOST || self.text_tokens > SUM_MOST {
            self.text_tokens /= 2;
            self.text_bytes /= 2;
        }
        Ok(self.per_byte())
    }

    /// From an answer's own length, before anything else is known: its words are the server's tokens.
    pub(super) fn learn_from_answer(&mut self, bytes: u64, tokens: u64) {
        if self.text_bytes == 0 && bytes >= LESSON_BYTES_LEAST {
            let weight = Weight {
                text_bytes: bytes,
                ..Weight::default()
            };
            // A lesson outside the band is none.
            let _ = self.learn_text(weight, tokens);
        }
    }

    /// From rows with images that grew the count by this much: what the text does not explain is theirs.
    pub(super) fn learn_images(&mut self, weight: Weight, tokens: u64) -> ImageLesson {
        if self.not_learnable {
            return Err(Refused::NotLearnable);
        }
        let count = u64::from(weight.images.total());
        let class = weight.images.only().ok_or(Refused::MixedSizes)?;
        let text = self.estimate(Weight {
            images: Images::default(),
            ..weight
        });
        if text.saturating_mul(4) > tokens {
            return Err(Refused::TooMuchText);
        }
        let each = tokens.saturating_sub(text).saturating_add(count / 2) / count.max(1);
        if !(IMAGE_LEAST..=IMAGE_MOST).contains(&each) {
            self.outside = self.outside.saturating_add(1);
            if self.outside >= OUTSIDE_MOST {
                self.not_learnable = true;
                return Err(Refused::NotLearnable);
            }
            return Err(Refused::OutsideBand);
        }
        self.outside = 0;
        let price = match self.learned_image(class) {
            Some(before) => (u64::from(before.0) + each).div_ceil(2),
            None => each,
        };
        Ok((class, self.set_image(class, price)))
    }

    /// From the difference of two counts of a server, which is no estimate.
    pub fn learn_image_exactly(&mut self, class: SizeClass, with: Tokens, without: Tokens) -> ImageLesson {
        let each = u64::from(with.0.saturating_sub(without.0));
        if !(1..=IMAGE_MOST).contains(&each) {
            return Err(Refused::OutsideBand);
        }
        self.outside = 0;
        self.not_learnable = false;
        Ok((class, self.set_image(class, each)))
    }

    fn set_image(&mut self, class: SizeClass, price: u64) -> Tokens {
        let price = Tokens(u32::try_from(price).unwrap_or(u32::MAX));
        if let Some(of) = self.images.get_mut(class.index()) {
            *of = Some(price);
        }
        price
    }

    /// A prediction that was checked: `part` of it was estimated.
    pub(super) fn predicted(&mut self, predicted: u64, part: u64, real: u64) {
        let error = signed(real).saturating_sub(signed(predicted));
        let share = |of: u64| {
            let of = signed(of).max(1);
            i32::try_from(error.saturating_mul(10_000) / of)
                .unwrap_or(if error < 0 { i32::MIN } else { i32::MAX })
                .clamp(-100_000, 100_000)
        };
        if part > 0 {
            self.part_errors.add(share(part));
        }
        self.whole_errors.add(share(real));
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use plimsoll_units::Tokens;
    use proptest::prelude::*;

    use super::{IMAGE_DEFAULT, Quantiles, Rates, Refused};
    use crate::context::{Images, SizeClass, Weight};

    fn with_images(bytes: u64, class: SizeClass, count: u32) -> Weight {
        let mut weight = Weight::text(bytes);
        weight.images.add(class, count);
        weight
    }

    #[test]
    fn text_is_learned_and_forgotten_slowly() {
        let mut rates = Rates::default();
        assert_eq!(rates.text(400), 100);
        rates.learn_text(Weight::text(1_000), 504).unwrap();
        assert_eq!(rates.text(1_000), 500);
        for _ in 0..20 {
            rates.learn_text(Weight::text(1_000), 204).unwrap();
        }
        assert!((200..=204).contains(&rates.text(1_000)), "{}", rates.text(1_000));
        assert_eq!(rates.learn_text(Weight::text(10), 6), Err(Refused::TooLittle));
        assert_eq!(
            rates.learn_text(Weight::text(1_000), 3_000),
            Err(Refused::OutsideBand)
        );
    }

    #[test]
    fn an_image_has_the_price_that_the_text_does_not_explain() {
        let mut rates = Rates::default();
        assert_eq!(rates.image(SizeClass::Large), IMAGE_DEFAULT);
        let lesson = rates.learn_images(with_images(400, SizeClass::Large, 2), 104 + 8_000);
        assert_eq!(lesson, Ok((SizeClass::Large, Tokens(4_000))));
        assert_eq!(
            rates.image(SizeClass::Small),
            Tokens(4_000),
            "the best that is known"
        );
        let next = rates.learn_images(with_images(400, SizeClass::Large, 1), 104 + 3_000);
        assert_eq!(next, Ok((SizeClass::Large, Tokens(3_500))), "half of the new one");
    }

    #[test]
    fn what_cannot_be_learned_from_says_why() {
        let mut rates = Rates::default();
        let mut mixed = with_images(40, SizeClass::Small, 1);
        mixed.images.add(SizeClass::Large, 1);
        assert_eq!(rates.learn_images(mixed, 4_000), Err(Refused::MixedSizes));
        assert_eq!(
            rates.learn_images(with_images(8_000, SizeClass::Small, 1), 4_000),
            Err(Refused::TooMuchText)
        );
        let free = with_images(0, SizeClass::Small, 1);
        assert_eq!(rates.learn_images(free, 20), Err(Refused::OutsideBand));
        assert_eq!(rates.learn_images(free, 20), Err(Refused::OutsideBand));
        assert_eq!(rates.learn_images(free, 20), Err(Refused::NotLearnable));
        assert_eq!(rates.learn_images(free, 4_000), Err(Refused::NotLearnable));
        assert_eq!(
            rates.learn_image_exactly(SizeClass::Small, Tokens(1_100), Tokens(76)),
            Ok((SizeClass::Small, Tokens(1_024))),
            "two counts are no residual"
        );
        assert!(rates.is_learnable());
    }

    #[test]
    fn quantiles_need_eight_errors() {
        let mut errors = Quantiles::default();
        for error in 1..8 {
            errors.add(error);
        }
        assert_eq!(errors.at(50), None);
        errors.add(-100);
        assert_eq!((errors.at(0), errors.at(100)), (Some(-100), Some(7)));
        assert_eq!(errors.size_at(100), Some(100));
    }

    proptest! {
        /// Whatever servers count, an estimate is a number and a rate is one that a tokenizer can have.
        #[test]
        fn nothing_overflows(lessons in prop::collection::vec((any::<u64>(), any::<u64>(), 0_u32..9), 0..60)) {
            let mut rates = Rates::default();
            for (bytes, tokens, images) in lessons {
                let weight = Weight { images: Images::default(), ..with_images(bytes, SizeClass::Small, images) };
                let _ = rates.learn_text(weight, tokens);
                let _ = rates.learn_images(with_images(bytes, SizeClass::Small, images.max(1)), tokens);
                rates.predicted(tokens, bytes, bytes);
                let _ = rates.estimate(with_images(bytes, SizeClass::Small, images));
            }
            prop_assert!((50_000..=1_500_000).contains(&rates.per_byte()));
            let price = rates.image(SizeClass::Small).0;
            prop_assert!((64..=32_768).contains(&price));
        }
    }
}
