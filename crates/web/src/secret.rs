use std::fmt;

/// 256 random bits in hexadecimal: too many to guess, and safe in an address or a cookie.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn fresh() -> Self {
        let bytes: [u8; 32] = rand::random();
        Self(
            bytes
                .iter()
                .flat_map(|byte| [byte >> 4, byte & 15])
                .map(digit)
                .collect(),
        )
    }

    pub(crate) fn shown(&self) -> &str {
        &self.0
    }

    pub(crate) fn is(&self, other: &str) -> bool {
        crate::guard::same_secret(&self.0, other)
    }
}

fn digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}

/// Kept out of logs and panics.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn long_and_different_and_unprinted() {
        let (one, two) = (Secret::fresh(), Secret::fresh());
        assert_eq!(one.shown().len(), 64);
        assert!(!one.is(two.shown()) && one.is(one.shown()));
        assert!(!format!("{one:?}").contains(one.shown()));
    }
}
