//! Codes and numbers in, sentences out. Every sentence of the terminal stands in `lang/*.json`.
//!
//! A template holds `{name}` or `{name:format}`; a part in `[brackets]` is left out when one of its values is
//! missing, since a fault tells what it knows and no more.

use std::collections::BTreeMap;

use plimsoll_os::environment::Environment;
use plimsoll_units::{Bytes, BytesPerSecond};
use plimsoll_wire::{Param, Params};
use serde_json::Value;

const ENGLISH: &str = include_str!("../lang/en.json");
const GERMAN: &str = include_str!("../lang/de.json");

/// One language, and English for what it lacks.
#[derive(Debug, Clone)]
pub(crate) struct Lang {
    texts: BTreeMap<String, String>,
    marks: Marks,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy)]
struct Marks {
    decimal: char,
    thousands: char,
}

impl Lang {
    /// By the person's locale, in the order that programs read it.
    pub(crate) fn of(environment: &Environment) -> Self {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .iter()
            .find_map(|name| environment.filled(name));
        match locale.and_then(|locale| locale.split(['_', '.', '-']).next()) {
            Some("de") => Self::german(),
            Some(_) | None => Self::english(),
        }
    }

    pub(crate) fn english() -> Self {
        Self {
            texts: flat(ENGLISH),
            marks: Marks {
                decimal: '.',
                thousands: ',',
            },
        }
    }

    pub(crate) fn german() -> Self {
        let mut texts = flat(ENGLISH);
        texts.extend(flat(GERMAN));
        Self {
            texts,
            marks: Marks {
                decimal: ',',
                thousands: '.',
            },
        }
    }

    /// A text without values.
    pub(crate) fn text<'a>(&'a self, key: &'a str) -> &'a str {
        self.texts.get(key).map_or(key, String::as_str)
    }

    /// Owned, for clap; empty where there is none.
    pub(crate) fn text_or_empty(&self, key: &str) -> String {
        self.find(key).unwrap_or_default().to_owned()
    }

    pub(crate) fn find(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    /// A text with its values filled in.
    pub(crate) fn say(&self, key: &str, params: &Params) -> String {
        self.fill(self.text(key), params)
    }

    /// A sentence for a code that a newer core may know and we do not: then the code itself, with what came
    /// along.
    pub(crate) fn code(&self, area: &str, code: &str, params: &Params) -> String {
        if let Some(template) = self.find(&format!("{area}.{code}")) {
            return self.fill(template, params);
        }
        let params = params
            .iter()
            .map(|(name, value)| format!(" {name}={}", self.plain(value)));
        std::iter::once(clean(code)).chain(params).collect()
    }

    fn fill(&self, template: &str, params: &Params) -> String {
        let mut out = String::with_capacity(template.len() + 16);
        let mut rest = template;
        while let Some(start) = rest.find('[') {
            let (before, after) = rest.split_at(start);
            let Some(end) = after.find(']') else { break };
            out.push_str(&self.values(before, params).0);
            let (part, complete) = self.values(&after[1..end], params);
            if complete {
                out.push_str(&part);
            }
            rest = &after[end + 1..];
        }
        out.push_str(&self.values(rest, params).0);
        out
    }

    /// The text with its values, and whether all of them were there.
    fn values(&self, template: &str, params: &Params) -> (String, bool) {
        let (mut out, mut complete) = (String::new(), true);
        let mut rest = template;
        while let Some(start) = rest.find('{') {
            let Some(length) = rest[start..].find('}') else {
                break;
            };
            out.push_str(&rest[..start]);
            let (name, format) = split(&rest[start + 1..start + length]);
            if let Some(value) = params.get(name) {
                out.push_str(&self.value(value, format));
            } else {
                complete = false;
                out.push('?');
            }
            rest = &rest[start + length + 1..];
        }
        out.push_str(rest);
        (out, complete)
    }

    fn value(&self, value: &Param, format: &str) -> String {
        match (value, format) {
            (Param::Whole(n), "bytes") => self.bytes(*n),
            (Param::Whole(n), "rate") => self.with_decimal(&BytesPerSecond(*n).to_string()),
            (Param::Whole(n), "count") => self.count(*n),
            (Param::Whole(n), "short") => self.short(*n),
            (Param::Whole(n), "seconds") => self.seconds(Bytes(*n).as_f64()),
            (Param::Number(n), "seconds") => self.seconds(*n),
            (Param::Number(n), "percent") => format!("{} %", whole(n * 100.0)),
            (Param::Whole(_) | Param::Number(_) | Param::Text(_), _) => self.plain(value),
        }
    }

    fn plain(&self, value: &Param) -> String {
        match value {
            Param::Whole(n) => n.to_string(),
            Param::Number(n) => self.number(*n),
            Param::Text(text) => clean(text),
        }
    }

    pub(crate) fn bytes(&self, n: u64) -> String {
        self.with_decimal(&Bytes(n).to_string())
    }

    /// A bandwidth as data sheets give it, in powers of ten.
    pub(crate) fn bandwidth(&self, bytes_per_s: u64) -> String {
        format!("{} GB/s", self.number(Bytes(bytes_per_s).as_f64() / 1e9))
    }

    /// A large number as it is said of models: `494 M`, `8.0 B`.
    fn short(&self, n: u64) -> String {
        let value = Bytes(n).as_f64();
        match n {
            0..=999_999 => self.count(n),
            1_000_000..=999_499_999 => format!("{} M", self.number(value / 1e6)),
            _ => format!("{} B", self.number(value / 1e9)),
        }
    }

    /// Whole numbers in groups of three.
    pub(crate) fn count(&self, n: u64) -> String {
        let digits = n.to_string();
        let mut out = String::with_capacity(digits.len() + 6);
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                out.push(self.marks.thousands);
            }
            out.push(digit);
        }
        out
    }

    /// Three significant digits, as a person would say a measured number.
    pub(crate) fn number(&self, n: f64) -> String {
        let digits = match n.abs() {
            n if n >= 999.5 => return self.count(whole(n)),
            n if n < 0.095 => 2,
            n if n < 9.95 => 1,
            _ => 0,
        };
        self.with_decimal(&format!("{n:.digits$}"))
    }

    pub(crate) fn seconds(&self, s: f64) -> String {
        match s {
            s if s < 1.0 => format!("{} ms", self.number(s * 1000.0)),
            s if s < 120.0 => format!("{} s", self.number(s)),
            s => format!("{} min", self.number(s / 60.0)),
        }
    }

    fn with_decimal(&self, text: &str) -> String {
        text.replace('.', self.marks.decimal.encode_utf8(&mut [0; 4]))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, and saturating is what is wanted"
)]
fn whole(n: f64) -> u64 {
    n.round() as u64
}

/// A name from outside must not move the cursor or colour the screen.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

fn split(placeholder: &str) -> (&str, &str) {
    placeholder.split_once(':').unwrap_or((placeholder, ""))
}

fn flat(json: &str) -> BTreeMap<String, String> {
    fn into(out: &mut BTreeMap<String, String>, path: &str, value: Value) {
        match value {
            Value::String(text) => {
                out.insert(path.to_owned(), text);
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let path = if path.is_empty() {
                        name
                    } else {
                        format!("{path}.{name}")
                    };
                    into(out, &path, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
        }
    }
    let mut out = BTreeMap::new();
    // The files are part of the program and a test reads them: nothing to tell a person here.
    into(&mut out, "", serde_json::from_str(json).unwrap_or_default());
    out
}

/// Parameters in place: `params! { size = 3_u64 }`.
macro_rules! params {
    ($($name:ident = $value:expr),* $(,)?) => {
        plimsoll_wire::Params::from([$((stringify!($name).to_owned(), plimsoll_wire::Param::from($value))),*])
    };
}
pub(crate) use params;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn placeholders(text: &str) -> BTreeSet<&str> {
        text.split('{')
            .skip(1)
            .filter_map(|part| part.split_once('}'))
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn both_languages_say_the_same_things() {
        let (english, german) = (flat(ENGLISH), flat(GERMAN));
        assert!(english.len() > 100, "the file was read");
        assert_eq!(
            english.keys().collect::<Vec<_>>(),
            german.keys().collect::<Vec<_>>(),
            "a sentence is missing in one of them"
        );
        for (key, text) in &english {
            assert_eq!(placeholders(text), placeholders(&german[key]), "{key}");
            assert!(!text.trim().is_empty() && !german[key].trim().is_empty(), "{key}");
            assert!(!text.contains('!'), "{key}: no exclamation");
        }
    }

    #[test]
    fn every_fault_and_fix_has_a_text() {
        let contract = plimsoll_wire::typescript();
        for (area, name) in [
            ("fault", "FaultCode"),
            ("faultAbout", "FaultCode"),
            ("fix", "Fix"),
        ] {
            let line = contract.split(&format!("export type {name} = ")).nth(1).unwrap();
            let codes: Vec<&str> = line
                .split(';')
                .next()
                .unwrap()
                .split('"')
                .skip(1)
                .step_by(2)
                .collect();
            assert!(codes.len() > 10, "{codes:?}");
            for code in codes {
                assert!(
                    flat(ENGLISH).contains_key(&format!("{area}.{code}")),
                    "{area}.{code}"
                );
            }
        }
    }

    #[test]
    fn every_note_of_a_machine_has_a_text() {
        // The reader of the notes knows their codes and says so when it meets another.
        let unknown = json!({ "code": "?", "params": {} });
        let why = serde_json::from_value::<plimsoll_hardware::Note>(unknown)
            .unwrap_err()
            .to_string();
        let codes: Vec<&str> = why.split('`').skip(3).step_by(2).collect();
        assert!(codes.len() > 20, "{why}");
        for code in codes {
            assert!(flat(ENGLISH).contains_key(&format!("note.{code}")), "note.{code}");
        }
    }

    #[test]
    fn every_reason_of_the_planner_has_a_text() {
        // The codes stand in one place, each beside its parameters.
        let code = include_str!("../../planner/src/why.rs")
            .split("fn say(")
            .nth(1)
            .unwrap();
        let mut codes: Vec<&str> = code
            .split("vec![")
            .filter_map(|before| before.rsplit('"').nth(1))
            .collect();
        // After the last list there is no code.
        codes.pop();
        assert!(codes.len() > 20 && codes.contains(&"allOnDevice"), "{codes:?}");
        let texts = flat(ENGLISH);
        let missing: Vec<_> = codes
            .iter()
            .filter(|code| !texts.contains_key(&format!("reason.{code}")))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_part_without_its_value_is_left_out() {
        let lang = Lang::english();
        let full = "Full.[ Needs {needed:bytes}, {free:bytes} free.] Go on.";
        assert_eq!(
            lang.fill(full, &params! { needed = 5_u64 << 30, free = 12_u64 << 20 }),
            "Full. Needs 5 GB, 12 MB free. Go on."
        );
        assert_eq!(lang.fill(full, &params! { needed = 1_u64 }), "Full. Go on.");
        assert_eq!(lang.fill("{missing} here", &Params::new()), "? here");
        assert_eq!(
            lang.fill("an open { and an open [", &Params::new()),
            "an open { and an open ["
        );
    }

    #[test]
    fn numbers_follow_the_language() {
        let params = params! { a = 1_234_567_u64, b = 0.25, c = "x", d = 90_u64 };
        let template = "{a:count} {a:bytes} {b} {b:percent} {c:bytes} {d:seconds}";
        assert_eq!(
            Lang::english().fill(template, &params),
            "1,234,567 1.2 MB 0.2 25 % x 90 s"
        );
        assert_eq!(
            Lang::german().fill(template, &params),
            "1.234.567 1,2 MB 0,2 25 % x 90 s"
        );
        assert_eq!(
            Lang::english().fill("{n:short}", &params! { n = 494_032_768_u64 }),
            "494 M"
        );
        assert_eq!(
            Lang::english().fill("{n:short}", &params! { n = 8_030_261_312_u64 }),
            "8.0 B"
        );
        assert_eq!(Lang::english().bandwidth(51_200_000_000), "51 GB/s");
        assert_eq!(Lang::english().number(657_064.8), "657,065");
        assert_eq!(Lang::english().seconds(0.0421), "42 ms");
        assert_eq!(Lang::english().seconds(600.0), "10 min");
    }

    #[test]
    fn a_name_from_outside_cannot_steer_the_terminal() {
        let params = params! { name = "a\u{1b}[2Jb\r" };
        assert_eq!(Lang::english().fill("{name}", &params), "a\u{fffd}[2Jb\u{fffd}");
    }

    #[test]
    fn the_locale_chooses() {
        let of = |pairs: &[(&str, &str)]| {
            Lang::of(&Environment::from_pairs(pairs.iter().copied()))
                .text("fault.diskFull")
                .to_owned()
        };
        let (english, german) = (of(&[]), of(&[("LANG", "de_DE.UTF-8")]));
        assert_ne!(english, german);
        assert_eq!(of(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")]), english);
        assert_eq!(
            of(&[("LANG", "tlh_KX")]),
            english,
            "a language that we do not have"
        );
    }

    #[test]
    fn every_text_that_the_code_asks_for_is_there() {
        fn files(folder: &std::path::Path, out: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    files(&path, out);
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    out.push_str(text.split("#[cfg(test)]").next().unwrap());
                }
            }
        }
        let mut code = String::new();
        files(
            &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut code,
        );
        let is_key = |text: &&str| {
            text.split_once('.').is_some_and(|(area, name)| {
                let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic());
                word(area) && word(name)
            })
        };
        let keys: BTreeSet<&str> = code.split('"').skip(1).step_by(2).filter(is_key).collect();
        assert!(keys.len() > 80, "the code was searched: {keys:?}");
        let texts = flat(ENGLISH);
        let missing: Vec<_> = keys.iter().filter(|key| !texts.contains_key(**key)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_code_without_a_text_is_still_told() {
        let text = Lang::english().code("reason", "fromTheFuture", &params! { size = 3_u64 });
        assert_eq!(text, "fromTheFuture size=3");
    }
}
