use plimsoll_units::BytesPerSecond;
use serde::Deserialize;

/// Peak memory bandwidth of devices that the name alone identifies.
#[derive(Debug, Clone, Deserialize)]
pub struct Bandwidth {
    pub rows: Vec<BandwidthRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BandwidthRow {
    pub name: String,
    /// Words that must stand in this order in the device's name; a row without keys is for reference only.
    #[serde(rename = "match")]
    pub keys: Vec<String>,
    pub bytes_per_second: BytesPerSecond,
    pub kind: RowKind,
    pub source: String,
    pub verified: bool,
    #[serde(default)]
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowKind {
    Device,
    Host,
}

impl Bandwidth {
    /// The row whose longest key stands word by word in `name`. A laptop part shares its name with a card of
    /// twice the bandwidth, so it matches only a row that says "laptop" too.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&BandwidthRow> {
        let words = words(name);
        let laptop = words.iter().any(|word| word == "laptop" || word == "mobile");
        self.rows
            .iter()
            .flat_map(|row| row.keys.iter().map(move |key| (row, self::words(key))))
            .filter(|(_, key)| !key.is_empty() && words.windows(key.len()).any(|window| window == key))
            .filter(|(_, key)| !laptop || key.iter().any(|word| word == "laptop" || word == "mobile"))
            // A verified row wins over an unverified one of the same key.
            .max_by_key(|(row, key)| (key.len(), row.verified))
            .map(|(row, _)| row)
    }
}

/// Lower case, split at everything but letters, digits, `+` and `-`; `RTX4090` and `RTX 4090` read alike.
fn words(name: &str) -> Vec<String> {
    name.to_lowercase()
        .replace("(tm)", " ")
        .replace("(r)", " ")
        .split(|c: char| !(c.is_alphanumeric() || c == '+' || c == '-'))
        .flat_map(
            |word| match word.strip_prefix("rtx").or_else(|| word.strip_prefix("gtx")) {
                Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => {
                    vec![word[..3].to_owned(), number.to_owned()]
                }
                Some(_) | None => vec![word.to_owned()],
            },
        )
        .filter(|word| !word.is_empty())
        .collect()
}
