use plimsoll_units::{Bytes, BytesPerSecond};
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
    /// The sizes in GiB with which this build of a name is sold: the device's own memory, or the machine's where
    /// that is the same. Empty: the name says all.
    #[serde(default)]
    pub memory_gib: Vec<u64>,
    /// How many GPU cores this build of a name has.
    #[serde(default)]
    pub gpu_cores: Option<u32>,
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
        self.find_build(name, None, None)
    }

    /// The same where one name has builds of different width: the memory of the device (of the machine, where the
    /// two are one) or the number of GPU cores tells which it is.
    #[must_use]
    pub fn find_build(
        &self,
        name: &str,
        memory: Option<Bytes>,
        gpu_cores: Option<u32>,
    ) -> Option<&BandwidthRow> {
        let words = words(name);
        let laptop = words.iter().any(|word| word == "laptop" || word == "mobile");
        self.rows
            .iter()
            .flat_map(|row| row.keys.iter().map(move |key| (row, self::words(key))))
            .filter(|(_, key)| !key.is_empty() && words.windows(key.len()).any(|window| window == key))
            .filter(|(_, key)| !laptop || key.iter().any(|word| word == "laptop" || word == "mobile"))
            .filter_map(|(row, key)| Some((row, key, row.fits(memory, gpu_cores)?)))
            // The row of a build wins over that of a name, a verified row over an unverified one of the same key.
            .max_by_key(|(row, key, certain)| (*certain, key.len(), row.verified))
            .map(|(row, key, _)| (row, key))
            .map(|(row, _)| row)
    }
}

impl BandwidthRow {
    /// `None`: another build. Whether this one is certain, by cores or memory.
    fn fits(&self, memory: Option<Bytes>, gpu_cores: Option<u32>) -> Option<bool> {
        if let (Some(own), Some(cores)) = (self.gpu_cores, gpu_cores) {
            return (own == cores).then_some(true);
        }
        if self.memory_gib.is_empty() {
            return Some(false);
        }
        // A system sees a little less than what is built in.
        let near = |gib: u64| {
            let built = Bytes::gib(gib);
            memory.is_some_and(|memory| memory <= built && memory >= Bytes(built.0 / 8 * 7))
        };
        self.memory_gib.iter().any(|&gib| near(gib)).then_some(true)
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
