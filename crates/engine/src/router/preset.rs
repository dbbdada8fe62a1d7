use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_os::files::{self, FileError};
use plimsoll_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::engines::Abilities;
use crate::error::EngineError;
use crate::hex;

/// A model and the arguments that its plan wants llama-server to have. The file is not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPlan {
    /// What everyone else calls it.
    pub id: String,
    /// For people.
    pub name: String,
    /// The first file of the set.
    pub path: PathBuf,
    pub arguments: Vec<String>,
    /// All memory that the plan counts on.
    pub planned: Bytes,
}

const PRESET_BYTES_MAX: Bytes = Bytes::mib(1);
/// What we know about a section and llama-server need not: a comment to it.
const ABOUT: &str = "; plimsoll: ";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct About {
    pub id: String,
    pub name: String,
    pub planned_bytes: u64,
}

/// One model's part of the preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub about: About,
    /// `key = value`, one each.
    pub lines: Vec<String>,
}

/// What putting a section in did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Same,
    Added,
    Replaced,
}

/// The file that tells the router which models there are; shared by all our processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Preset(BTreeMap<String, Section>);

impl Preset {
    /// A missing file is an empty preset.
    pub(super) fn read(path: &Path) -> Result<Self, EngineError> {
        match files::read_up_to(path, PRESET_BYTES_MAX) {
            Ok(bytes) => Ok(Self::parse(&String::from_utf8_lossy(&bytes))),
            Err(FileError::Missing { .. }) => Ok(Self::default()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), EngineError> {
        Ok(files::replace_private(path, self.to_ini().as_bytes())?)
    }

    #[must_use]
    pub(super) fn get(&self, router_id: &str) -> Option<&Section> {
        self.0.get(router_id)
    }

    pub(super) fn put(&mut self, section: Section) -> Change {
        let name = router_id(&section.about.id).into_owned();
        let old = self.0.insert(name.clone(), section);
        match old {
            None => Change::Added,
            Some(old) if self.0.get(&name).is_some_and(|new| new.lines == old.lines) => Change::Same,
            Some(_) => Change::Replaced,
        }
    }

    fn to_ini(&self) -> String {
        // `[*]` would apply to every model; it is there, and empty, so that nobody has to guess.
        let mut text = String::from("version = 1\n\n[*]\n");
        for (name, Section { about, lines }) in &self.0 {
            let about = serde_json::to_string(about).unwrap_or_default();
            let about = format!("{ABOUT}{about}");
            let header = format!("\n[{name}]");
            for line in [&header, &about].into_iter().chain(lines) {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }

    /// Reads what [`Self::to_ini`] wrote. A section without our comment is not ours and is left out.
    fn parse(text: &str) -> Self {
        let mut sections = BTreeMap::new();
        let mut current: Option<(String, Option<About>, Vec<String>)> = None;
        let mut close = |current: Option<(String, Option<About>, Vec<String>)>| {
            if let Some((name, Some(about), lines)) = current {
                sections.insert(name, Section { about, lines });
            }
        };
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                close(current.replace((name.to_owned(), None, Vec::new())));
            } else if let Some((_, about, lines)) = &mut current {
                if let Some(json) = line.strip_prefix(ABOUT) {
                    *about = serde_json::from_str(json).ok();
                } else if !line.is_empty() {
                    lines.push(line.to_owned());
                }
            }
        }
        close(current);
        Self(sections)
    }
}

/// The section of one model. `link_folder` is a folder of ours for paths that a preset cannot hold.
pub(super) fn section(
    plan: &ModelPlan,
    engine: &str,
    abilities: &Abilities,
    link_folder: &Path,
) -> Result<Section, EngineError> {
    let mut lines = vec![line("model", &usable_path(&plan.path, link_folder)?)?];
    for (option, value) in pairs(&plan.arguments) {
        if !abilities.knows(option) {
            return Err(EngineError::OptionUnknown {
                engine: engine.to_owned(),
                option: option.to_owned(),
            });
        }
        let key = option.trim_start_matches('-');
        let value = match value {
            None => Cow::Borrowed("true"),
            Some(value) if is_plain(value) => Cow::Borrowed(value),
            Some(value) => Cow::Owned(usable_path(Path::new(value), link_folder)?),
        };
        lines.push(line(key, &value)?);
    }
    let about = About {
        id: plan.id.clone(),
        name: plan.name.clone(),
        planned_bytes: plan.planned.0,
    };
    Ok(Section { about, lines })
}

fn line(key: &str, value: &str) -> Result<String, EngineError> {
    // A key is `[a-zA-Z_][a-zA-Z0-9_.-]*`; what `--help` lists always is.
    let usable = key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    if usable && is_plain(value) {
        Ok(format!("{key} = {value}"))
    } else {
        Err(EngineError::PathUnusable {
            path: PathBuf::from(value),
        })
    }
}

/// Options with their values: an option is what starts with a dash and is no number.
fn pairs(arguments: &[String]) -> Vec<(&str, Option<&str>)> {
    let is_option = |word: &str| {
        word.starts_with('-') && word[1..].starts_with(|c: char| c == '-' || c.is_ascii_alphabetic())
    };
    let mut found: Vec<(&str, Option<&str>)> = Vec::new();
    for word in arguments {
        match found.last_mut() {
            Some((_, value @ None)) if !is_option(word) => *value = Some(word),
            _ => found.push((word, None)),
        }
    }
    found
}

/// llama-server ends a value at `;`, `#` or the end of the line and knows no quotes; spaces around are lost.
fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.trim() == value && !value.contains(['#', ';', '\n', '\r', '\0'])
}

/// The path itself, or a link to it under a name that a preset can hold. A folder is linked rather than a
/// file, so that the other parts of a split model are found beside the first.
fn usable_path(path: &Path, link_folder: &Path) -> Result<String, EngineError> {
    let unusable = || EngineError::PathUnusable {
        path: path.to_owned(),
    };
    let text = path.to_str().ok_or_else(unusable)?;
    if is_plain(text) {
        return Ok(text.to_owned());
    }
    let file = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(unusable)?;
    let folder = path.parent().ok_or_else(unusable)?;
    files::create_private_dir(link_folder)?;
    let (target, link, through) = if is_plain(file) {
        let link = link_folder.join(short_name(&folder.to_string_lossy()));
        (folder, link.clone(), link.join(file))
    } else {
        let link = link_folder.join(short_name(text)).with_extension("gguf");
        (path, link.clone(), link)
    };
    files::symlink(target, &link)?;
    through
        .to_str()
        .filter(|text| is_plain(text))
        .map(str::to_owned)
        .ok_or_else(unusable)
}

fn short_name(of: &str) -> String {
    use sha2::Digest;
    hex(&sha2::Sha256::digest(of)[..8])
}

/// The name that the router knows a model by. Most ids are their own name; what would break a section's
/// header, or what the router would rename, is written as `%XX`.
#[must_use]
pub fn router_id(id: &str) -> Cow<'_, str> {
    let reserved = id == "*" || id == "default";
    let renamed = id.rsplit_once(':').is_some_and(|(_, tag)| !is_canonical(tag));
    let odd = |at: usize, c: char| {
        let at_edge = at == 0 || at + c.len_utf8() == id.len();
        matches!(c, '[' | ']' | '%' | ',')
            || c.is_control()
            || (c.is_whitespace() && at_edge)
            || (c == ':' && renamed)
            || (at == 0 && reserved)
    };
    if !id.char_indices().any(|(at, c)| odd(at, c)) {
        return Cow::Borrowed(id);
    }
    let mut name = String::with_capacity(id.len() + 8);
    for (at, c) in id.char_indices() {
        if odd(at, c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).as_bytes() {
                name.push('%');
                name.push_str(&hex(&[*byte]).to_ascii_uppercase());
            }
        } else {
            name.push(c);
        }
    }
    Cow::Owned(name)
}

/// llama-server turns the part after the last colon into a tag of its own making: upper case, and only what
/// follows the last `-` or `.` where that is a word.
fn is_canonical(tag: &str) -> bool {
    let cut = tag.rsplit_once(['-', '.']).is_some_and(|(_, last)| {
        !last.is_empty() && last.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    !cut && !tag.bytes().any(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abilities() -> Abilities {
        Abilities::from_help(
            "-c,    --ctx-size N    size\n--no-mmap   x\n-fa,   --flash-attn FA  y\n--cache-ram N  z\n-m,  --model F\n--mmproj F\n",
        )
    }

    fn plan(arguments: &[&str]) -> ModelPlan {
        ModelPlan {
            id: "smol".into(),
            name: "Smol \"one\"\nand a half".into(),
            path: "/models/a b/Ünï.gguf".into(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            planned: Bytes::mib(200),
        }
    }

    #[test]
    fn a_plan_becomes_a_section_and_is_read_back() {
        let plan = plan(&[
            "--ctx-size",
            "4096",
            "--no-mmap",
            "-fa",
            "on",
            "--cache-ram",
            "-1",
        ]);
        let section = section(&plan, "e", &abilities(), Path::new("/links")).unwrap();
        assert_eq!(
            section.lines,
            [
                "model = /models/a b/Ünï.gguf",
                "ctx-size = 4096",
                "no-mmap = true",
                "fa = on",
                "cache-ram = -1"
            ]
        );
        let mut preset = Preset::default();
        assert_eq!(preset.put(section.clone()), Change::Added);
        let mut again = Preset::parse(&preset.to_ini());
        assert_eq!(again, preset);
        assert_eq!(again.put(section.clone()), Change::Same);
        let fewer = Section {
            lines: section.lines[..2].to_vec(),
            ..section
        };
        assert_eq!(again.put(fewer), Change::Replaced);
    }

    #[test]
    fn an_option_the_engine_lacks_is_named() {
        let error = section(&plan(&["--turbo", "9"]), "b1", &abilities(), Path::new("/l")).unwrap_err();
        assert!(matches!(error, EngineError::OptionUnknown { option, .. } if option == "--turbo"));
    }

    #[test]
    fn values_that_would_be_cut_are_refused() {
        for value in ["a#b", "a;b", "a\nb", " a", ""] {
            assert!(line("key", value).is_err(), "{value:?}");
        }
        assert!(line("a b", "x").is_err());
        assert!(line("x]\n[y", "x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_with_a_hash_is_reached_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("C# models; mine");
        files::create_dir(&odd).unwrap();
        files::replace(&odd.join("m.gguf"), b"GGUF").unwrap();
        files::replace(&odd.join("m#2.gguf"), b"GGUF").unwrap();
        for file in ["m.gguf", "m#2.gguf"] {
            let through = usable_path(&odd.join(file), &folder.path().join("links")).unwrap();
            assert!(is_plain(&through), "{through}");
            assert!(Path::new(&through).is_file(), "{through}");
            assert_eq!(Path::new(&through).extension().unwrap(), "gguf");
        }
    }

    #[test]
    fn ids_keep_their_names_unless_the_router_would_change_them() {
        for same in ["smollm2-135m:Q4_1", "ünï code", "a.b-c", "x:"] {
            assert_eq!(router_id(same), same);
        }
        assert_eq!(router_id("hf:org/repo/file"), "hf%3Aorg/repo/file");
        assert_eq!(router_id("m:UD-Q4_K_XL"), "m%3AUD-Q4_K_XL");
        assert_eq!(router_id("a]b\n[c]"), "a%5Db%0A%5Bc%5D");
        assert_eq!(router_id(" a,b "), "%20a%2Cb%20");
        assert_eq!(router_id("*"), "%2A");
        assert_eq!(router_id("100%"), "100%25");
    }

    #[test]
    fn what_is_not_ours_in_a_preset_is_left_out() {
        let preset = Preset::parse("version = 1\n[*]\nx = 1\n[foreign]\nmodel = y\n[bad]\n; plimsoll: {\n");
        assert_eq!(preset, Preset::default());
    }
}
