use std::collections::HashMap;
use std::sync::OnceLock;

use plimsoll_units::{Bytes, BytesPerSecond};
use serde::Deserialize;

/// Peak memory bandwidth of devices that the name alone identifies.
#[derive(Debug, Clone, Deserialize)]
pub struct Bandwidth {
    pub rows: Vec<BandwidthRow>,
    #[serde(skip)]
    index: OnceLock<Index>,
}

/// All keys by their first word, each with its row.
type Index = HashMap<String, Vec<Key>>;

#[derive(Debug, Clone)]
struct Key {
    words: Vec<String>,
    row: usize,
    /// Among all keys, as they are written.
    order: usize,
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
    /// Single precision arithmetic in 10⁹ operations a second, of cards that are limited by it when they unpack
    /// quantised weights: NVIDIA's before Turing.
    #[serde(default)]
    pub unpack_gflops: Option<u32>,
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
        let says_laptop = |words: &[String]| words.iter().any(|word| word == "laptop" || word == "mobile");
        let laptop = says_laptop(&words);
        let index = self.index.get_or_init(|| self.indexed());
        let here = |at: usize| {
            let rest = words.get(at..).unwrap_or_default();
            let keys = rest.first().and_then(|word| index.get(word));
            keys.into_iter()
                .flatten()
                .filter(move |key| rest.starts_with(&key.words))
        };
        (0..words.len())
            .flat_map(here)
            .filter(|key| !laptop || says_laptop(&key.words))
            .filter_map(|key| {
                let row = self.rows.get(key.row)?;
                Some((key, row, row.fits(memory, gpu_cores)?))
            })
            // The row of a build wins over that of a name, a verified row over an unverified one of the same key.
            .max_by_key(|(key, row, certain)| (*certain, key.words.len(), row.verified, key.order))
            .map(|(_, row, _)| row)
    }

    fn indexed(&self) -> Index {
        let rows = self.rows.iter().enumerate();
        let keys = rows.flat_map(|(at, row)| row.keys.iter().map(move |key| (at, words(key))));
        let mut index = Index::new();
        for (order, (row, words)) in keys.enumerate() {
            if let Some(first) = words.first().cloned() {
                index.entry(first).or_default().push(Key { words, row, order });
            }
        }
        index
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
