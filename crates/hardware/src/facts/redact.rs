//! A record for a report: what judges the machine stays, what names its owner goes.
//!
//! Collecting leaves out host names, serial numbers and the like from the start; this is the second lock, for
//! what stands in places where nobody expects it: the path of a control group, the cause of a failure, a
//! variable that names a card by its serial number.

use std::collections::BTreeMap;

use plimsoll_os::Environment;
use serde_json::Value;

use super::Facts;
use super::nvml::Nvml;

/// Shorter names are words, too.
const NAME_CHARS_MIN: usize = 3;
/// From this many hexadecimal digits on a word is somebody's number: of a container, a disk, a card.
const ID_DIGITS_MIN: usize = 32;
/// The digits of the groups of a UUID (RFC 9562).
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
/// Folders whose next part is the name of a person.
const FOLDERS_OF_PEOPLE: [&str; 3] = ["/home/", "/Users/", "\\Users\\"];

/// What must not be in a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Private {
    /// Word, and what stands for it. Longer ones first: a home folder holds the name of its person.
    words: Vec<(String, &'static str)>,
}

impl Private {
    /// The names of this person and this machine, by the environment and the system.
    #[must_use]
    pub fn of(environment: &Environment) -> Self {
        let host = sysinfo::System::host_name();
        let mut words = Vec::new();
        if let Some(home) = environment.home_of_person() {
            words.push((home.to_string_lossy().into_owned(), "~"));
        }
        for name in ["USER", "LOGNAME", "USERNAME", "SUDO_USER"] {
            words.extend(environment.filled(name).map(|user| (user.to_owned(), "<user>")));
        }
        let hosts = ["HOSTNAME", "COMPUTERNAME", "HOST"];
        let hosts = hosts
            .iter()
            .filter_map(|name| environment.filled(name).map(str::to_owned));
        words.extend(hosts.chain(host).map(|host| (host, "<host>")));
        Self::from_words(words)
    }

    fn from_words(mut words: Vec<(String, &'static str)>) -> Self {
        // The administrator is nobody in particular.
        words.retain(|(word, _)| word.chars().count() >= NAME_CHARS_MIN && word != "root" && word != "/root");
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        words.dedup();
        Self { words }
    }
}

impl Facts {
    /// The same machine without user names, host names, serial numbers, UUIDs and paths of people. Cards keep
    /// names of their own, so that a variable that picks one still picks it.
    #[must_use]
    pub fn without_personal_details(&self, private: &Private) -> Self {
        let mut facts = self.clone();
        let cards = rename_cards(&mut facts);
        for (name, value) in &mut facts.variables {
            *value = if name.ends_with("VISIBLE_DEVICES") {
                let entries = value.split(',').map(|entry| entry_of(entry, &cards));
                entries.collect::<Vec<_>>().join(",")
            } else {
                scrub(value, private)
            };
        }
        facts.facts = facts
            .facts
            .into_iter()
            .map(|(key, lines)| {
                let lines = lines.iter().filter(|line| !tells_a_serial(line));
                (
                    scrub(&key, private),
                    lines.map(|line| scrub(line, private)).collect(),
                )
            })
            .collect();
        // The rest has fields; texts are texts in all of them.
        let Ok(mut value) = serde_json::to_value(&facts) else {
            return facts;
        };
        if let Value::Object(parts) = &mut value {
            let rest = parts
                .iter_mut()
                .filter(|(name, _)| !["facts", "variables"].contains(&name.as_str()));
            for (_, part) in rest {
                scrub_all(part, private);
            }
        }
        serde_json::from_value(value).unwrap_or(facts)
    }
}

/// Old UUID → new name, for every card and slice. They look like short UUIDs of the same kind.
fn rename_cards(facts: &mut Facts) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let mut by_digits = BTreeMap::new();
    if let Some(Nvml::Answered { devices, .. }) = &mut facts.nvml {
        let mut count = 0;
        let mut rename = |uuid: &mut String, kind: &str| {
            if uuid.is_empty() {
                return;
            }
            let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
            let number = format!("{count:08x}");
            count += 1;
            // `GPU-` has no digit of its own; `MIG-` neither.
            by_digits.insert(digits.to_ascii_lowercase(), number.clone());
            let new = format!("{kind}-{number}");
            names.insert(std::mem::replace(uuid, new.clone()), new);
        };
        for device in devices {
            rename(&mut device.uuid, "GPU");
            for slice in device.slices.iter_mut().flatten() {
                rename(&mut slice.uuid, "MIG");
            }
        }
    }
    if let Some(super::Asked::Answered { devices }) = &mut facts.vulkan {
        for (at, device) in devices.iter_mut().enumerate() {
            if let Some(uuid) = &mut device.uuid {
                let known = by_digits.get(&uuid.to_ascii_lowercase());
                *uuid = known.cloned().unwrap_or_else(|| format!("f{at:07x}"));
            }
        }
    }
    names
}

/// An entry of a list of devices. A name may be shortened there as long as it is clear; one that was unclear or
/// named nothing does so afterwards as well.
fn entry_of(entry: &str, cards: &BTreeMap<String, String>) -> String {
    let text = entry.trim();
    let Some(kind) = ["GPU", "MIG"]
        .into_iter()
        .find(|kind| text.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-')))
    else {
        return entry.to_owned();
    };
    let mut matching = cards
        .iter()
        .filter(|(old, _)| old.starts_with(text))
        .map(|(_, new)| new);
    match (matching.next(), matching.next()) {
        (Some(new), None) => new.clone(),
        (Some(_), Some(_)) => format!("{kind}-0"),
        (None, _) => format!("{kind}-unknown"),
    }
}

fn scrub_all(value: &mut Value, private: &Private) {
    match value {
        Value::String(text) => *text = scrub(text, private),
        Value::Array(list) => list.iter_mut().for_each(|inner| scrub_all(inner, private)),
        Value::Object(map) => map.values_mut().for_each(|inner| scrub_all(inner, private)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn tells_a_serial(line: &str) -> bool {
    let Some(mark) = line.find([':', '=']) else {
        return false;
    };
    let label = line[..mark].to_ascii_lowercase();
    [
        "serial",
        "uuid",
        "asset tag",
        "mac address",
        "unique_id",
        "host name",
        "hostname",
    ]
    .iter()
    .any(|name| label.contains(name))
}

fn scrub(text: &str, private: &Private) -> String {
    let mut text = text.to_owned();
    for (word, instead) in &private.words {
        text = without_word(&text, word, instead);
    }
    for folder in FOLDERS_OF_PEOPLE {
        text = without_person(&text, folder);
    }
    without_ids(&text)
}

/// Only where it stands alone: a person called `ram` must not cost the record its RAM.
fn without_word(text: &str, word: &str, instead: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let joined = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        out.push_str(before);
        let alone =
            !joined(before.chars().next_back().or(out.chars().next_back())) && !joined(after.chars().next());
        out.push_str(if alone { instead } else { word });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn without_person(text: &str, folder: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder) {
        let end = at + folder.len();
        out.push_str(&rest[..end]);
        let name = rest[end..]
            .find(['/', '\\', ' ', '"', ':'])
            .unwrap_or(rest.len() - end);
        if name > 0 {
            out.push_str("<user>");
        }
        rest = &rest[end + name..];
    }
    out.push_str(rest);
    out
}

/// UUIDs, MAC addresses and long numbers of containers and cards.
fn without_ids(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-' || c == ':';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let length = rest[start..].find(|c| !is_part(c)).unwrap_or(rest.len() - start);
        let run = &rest[start..start + length];
        // In the middle of a word it is a part of that word.
        let alone = !rest[..start]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric);
        out.push_str(&rest[..start]);
        out.push_str(if alone && is_id(run) { "<id>" } else { run });
        rest = &rest[start + length..];
    }
    out.push_str(rest);
    out
}

fn is_id(run: &str) -> bool {
    let run = run.trim_end_matches(['-', ':']);
    let groups: Vec<usize> = run.split('-').map(str::len).collect();
    let digits = run.chars().filter(char::is_ascii_hexdigit).count();
    let mac = run.split(':').count() == 6 && run.split(':').all(|pair| pair.len() == 2);
    groups.ends_with(&UUID_GROUPS) || mac || digits >= ID_DIGITS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Asked, MigSlice, NvmlDevice, VulkanDevice};

    fn private() -> Private {
        Private::from_words(vec![
            ("alice".into(), "<user>"),
            ("/home/alice".into(), "~"),
            ("wonderland".into(), "<host>"),
            ("pc".into(), "<host>"),
            ("root".into(), "<user>"),
        ])
    }

    #[test]
    fn what_names_people_goes_and_the_rest_stays() {
        for (line, expected) in [
            ("loading /home/alice/lib.so", "loading ~/lib.so"),
            (
                "/home/bob/x and C:\\Users\\Carol\\y",
                "/home/<user>/x and C:\\Users\\<user>\\y",
            ),
            ("alice@wonderland:~", "<user>@<host>:~"),
            ("malice of alice2 and alice_", "malice of alice2 and alice_"),
            ("the pc of root", "the pc of root"),
            (
                "disk 0f3c2a11-1b2c-4d5e-8f90-0123456789ab is full",
                "disk <id> is full",
            ),
            ("GPU-0f3c2a11-1b2c-4d5e-8f90-0123456789ab", "GPU-<id>"),
            (
                "/sys/fs/cgroup/memory/docker/0123456789abcdef0123456789abcdef0123",
                "/sys/fs/cgroup/memory/docker/<id>",
            ),
            ("link 00:1a:2B:3c:4d:5e up", "link <id> up"),
            (
                "0000:03:00.0 has 25753026560 bytes of 0x744c",
                "0000:03:00.0 has 25753026560 bytes of 0x744c",
            ),
            (
                "size = 68719476736 (0x1000000000) (64.00 GiB)",
                "size = 68719476736 (0x1000000000) (64.00 GiB)",
            ),
            ("MemTotal:       65843304 kB", "MemTotal:       65843304 kB"),
            ("Straße von alice", "Straße von <user>"),
        ] {
            assert_eq!(scrub(line, &private()), expected);
        }
        assert!(tells_a_serial("\tSerial Number: 00000000") && tells_a_serial("System UUID = x"));
        assert!(!tells_a_serial("\tSize: 16 GB") && !tells_a_serial("serial"));
    }

    #[test]
    fn a_variable_still_picks_its_card() {
        let uuid = |n: u32| format!("GPU-0f3c2a1{n}-1b2c-4d5e-8f90-0123456789ab");
        let card = |n: u32| NvmlDevice {
            uuid: uuid(n),
            ..NvmlDevice::default()
        };
        let slice = MigSlice {
            uuid: "MIG-77777777-1b2c-4d5e-8f90-0123456789ab".into(),
            ..MigSlice::default()
        };
        let cut = NvmlDevice {
            slices: Some(vec![slice]),
            ..card(3)
        };
        let nvml = Nvml::Answered {
            driver: "595".into(),
            cuda: None,
            devices: vec![card(1), card(2), cut],
        };
        let vulkan = |uuid: String| VulkanDevice {
            uuid: Some(uuid),
            ..VulkanDevice::default()
        };
        let picked = |value: String| {
            let facts = Facts {
                nvml: Some(nvml.clone()),
                vulkan: Some(Asked::Answered {
                    devices: vec![vulkan(uuid(2)[4..].replace('-', "")), vulkan("a".repeat(32))],
                }),
                variables: BTreeMap::from([("CUDA_VISIBLE_DEVICES".to_owned(), value)]),
                ..Facts::default()
            };
            let out = facts.without_personal_details(&private());
            let text = serde_json::to_string(&out).unwrap();
            assert!(!text.contains("1b2c") && !text.contains("aaaa"), "{text}");
            let devices = out.vulkan.unwrap().devices().to_vec();
            assert_eq!(
                devices[0].uuid.as_deref(),
                Some("00000001"),
                "the same card in both answers"
            );
            out.variables["CUDA_VISIBLE_DEVICES"].clone()
        };
        assert_eq!(picked(uuid(2)), "GPU-00000001");
        assert_eq!(picked("GPU-0f3c2a11".into()), "GPU-00000000");
        assert_eq!(picked("MIG-7, 1".into()), "MIG-00000003, 1");
        assert_eq!(picked("GPU-0f3c,GPU-9".into()), "GPU-0,GPU-unknown");
    }
}
