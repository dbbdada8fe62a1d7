//! Speeds of a loaded model, measured at its server.

use std::fmt::Write as _;
use std::time::Duration;

use plimsoll_units::TokensPerSecond;
use serde_json::json;

use super::client::Client;
use super::proof::hear;
use crate::error::EngineError;

/// A slow machine reads a long prompt for minutes before the first word comes.
const SILENCE_MAX: Duration = Duration::from_mins(10);

/// One run: a prompt that no cache has seen, then an answer of a set length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// As the server counted them.
    pub prompt_tokens: u32,
    pub answer_tokens: u32,
    pub prefill: TokensPerSecond,
    pub decode: TokensPerSecond,
}

impl Client {
    /// Measures a model that is loaded. `words` make about as many tokens; `seed` makes the prompt another one.
    ///
    /// # Errors
    /// When the router cannot be asked, refuses, or tells no speed.
    pub async fn time(&self, model: &str, words: u32, answer: u32, seed: u32) -> Result<Timing, EngineError> {
        let body = json!({
            "model": model, "prompt": prompt(words, seed), "n_predict": answer, "temperature": 0,
            "ignore_eos": true, "stream": true, "cache_prompt": false, "return_progress": true,
        });
        let spoken = hear(self, model, &body, SILENCE_MAX).await?;
        match (spoken.prefill, spoken.decode) {
            (Some(prefill), Some(decode)) => Ok(Timing {
                prompt_tokens: spoken.read,
                answer_tokens: spoken.tokens,
                prefill,
                decode,
            }),
            (_, None) | (None, _) => Err(EngineError::ProofFailed {
                id: model.to_owned(),
                problem: "no speed was told".to_owned(),
                tail: Vec::new(),
            }),
        }
    }
}

const WORDS: [&str; 20] = [
    "anchor", "beam", "cargo", "deck", "engine", "flag", "galley", "harbor", "island", "keel", "ladder",
    "mast", "north", "ocean", "port", "quay", "rope", "sail", "tide", "water",
];

/// Common words, about one token each, in an order that the seed decides from the first one on.
fn prompt(words: u32, seed: u32) -> String {
    let mut state = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = format!("{seed}");
    for _ in 0..words {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = usize::try_from(state % WORDS.len() as u64).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(text, " {}", WORDS[at]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::prompt;

    #[test]
    fn two_prompts_share_no_beginning_and_one_seed_makes_one_prompt() {
        let (one, other) = (prompt(500, 1), prompt(500, 2));
        assert_eq!(one, prompt(500, 1));
        assert_ne!(one.as_bytes()[0], other.as_bytes()[0]);
        assert_eq!(one.split(' ').count(), 501);
    }
}
