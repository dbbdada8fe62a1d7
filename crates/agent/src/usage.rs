use plimsoll_units::{Tokens, TokensPerSecond};

/// What an answer took, as the server counted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Gross: with what came from the cache.
    pub prompt: Tokens,
    /// How much of the prompt came from the cache, where the server tells.
    pub cached: Option<Tokens>,
    pub completion: Tokens,
}

impl Usage {
    /// `None` for the 0/0 of a stream that counted nothing: unknown is not zero.
    #[must_use]
    pub fn counted(prompt: u32, cached: Option<u32>, completion: u32) -> Option<Self> {
        (prompt > 0).then_some(Self {
            prompt: Tokens(prompt),
            // More from the cache than there is prompt is a server's slip, not a fact.
            cached: cached.filter(|cached| *cached <= prompt).map(Tokens),
            completion: Tokens(completion),
        })
    }
}

/// How fast the server says it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    pub prefill: Option<TokensPerSecond>,
    pub decode: Option<TokensPerSecond>,
}

#[cfg(test)]
mod tests {
    use plimsoll_units::Tokens;

    use super::Usage;

    #[test]
    fn a_stream_that_counted_nothing_is_unknown() {
        assert_eq!(Usage::counted(0, Some(0), 0), None);
    }

    #[test]
    fn cached_tokens_are_inside_the_prompt() {
        let usage = Usage::counted(184_704, Some(183_936), 12).unwrap();
        assert_eq!(usage.prompt, Tokens(184_704), "gross, not the sum");
        assert_eq!(usage.cached, Some(Tokens(183_936)));
        assert_eq!(Usage::counted(10, Some(11), 1).unwrap().cached, None);
    }
}
