//! The environment, read once at start and passed on as a value, and the folders that follow from it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// A snapshot of the environment variables. Prints names only: values hold keys and tokens.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Call once, where the program starts.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the home of the environment")]
    pub fn read() -> Self {
        Self(std::env::vars_os().collect())
    }

    #[must_use]
    pub fn from_pairs<N: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }

    /// The value as it stands, empty included: an empty `CUDA_VISIBLE_DEVICES` hides every card. A value that
    /// is no Unicode is `None` here; paths come from [`Self::path`].
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.os(name)?.to_str()
    }

    /// The value, where an empty one means "not set".
    #[must_use]
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// True for `1`, `true`, `yes` and `on` in any case, as the Hugging Face tools read their switches.
    #[must_use]
    pub fn switched_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| {
            ["1", "true", "yes", "on"]
                .iter()
                .any(|on| value.trim().eq_ignore_ascii_case(on))
        })
    }

    /// The value as a path; empty means "not set", a leading `~` is the person's home folder.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let value = self.os(name).filter(|value| !value.is_empty())?;
        let path = Path::new(value);
        match path.strip_prefix("~") {
            Ok(rest) => Some(self.home_of_person()?.join(rest)),
            Err(_) => Some(path.to_owned()),
        }
    }

    /// Those of `names` that are set, with their values: what a child may be given.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> Vec<(OsString, OsString)> {
        names
            .iter()
            .filter_map(|name| Some((OsString::from(name), self.os(name)?.to_owned())))
            .collect()
    }

    /// The variables whose name starts with one of `prefixes`.
    #[must_use]
    pub fn starting_with(&self, prefixes: &[&str]) -> Vec<(OsString, OsString)> {
        self.0
            .iter()
            .filter(|(name, _)| {
                let name = name.to_string_lossy();
                prefixes.iter().any(|prefix| name.starts_with(prefix))
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// `HOME`, or `USERPROFILE` on Windows.
    #[must_use]
    pub fn home_of_person(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The person's folder for downloads, or their home folder where there is none. On Linux the name of the
    /// folder has a language, and stands in a file.
    #[must_use]
    pub fn downloads(&self) -> Option<PathBuf> {
        let home = self.home_of_person()?;
        let config = xdg(self, "XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let named = std::fs::read_to_string(config.join("user-dirs.dirs"))
            .ok()
            .and_then(|text| downloads_in(&text, &home));
        xdg(self, "XDG_DOWNLOAD_DIR")
            .or(named)
            .into_iter()
            .chain([home.join("Downloads"), home.clone()])
            .find(|folder| folder.is_dir())
    }

    fn os(&self, name: &str) -> Option<&OsStr> {
        if cfg!(windows) {
            // Names have no case there.
            let found = self.0.iter().find(|(have, _)| have.eq_ignore_ascii_case(name));
            return found.map(|(_, value)| value.as_os_str());
        }
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PlacesError {
    #[error("neither PLIMSOLL_HOME nor a home folder is set")]
    NoHome,
    #[error("{path} is no usable folder", path = .path.display())]
    NotAbsolute {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// The folders that are ours or that we share. Nothing is created here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Database, engines, logs, run state. `PLIMSOLL_HOME`, else the platform's folder for application data.
    pub home: PathBuf,
    /// The Hugging Face cache that other tools see too: `HF_HUB_CACHE`, `HF_HOME`, the platform's cache folder.
    pub hub_cache: PathBuf,
}

impl Places {
    pub fn from(environment: &Environment) -> Result<Self, PlacesError> {
        let absolute = |path: PathBuf| {
            std::path::absolute(&path).map_err(|source| PlacesError::NotAbsolute { path, source })
        };
        let person = environment.home_of_person();
        let home = environment
            .path("PLIMSOLL_HOME")
            .or_else(|| data_folder(environment, person.as_deref()))
            .ok_or(PlacesError::NoHome)?;
        let hub_cache = environment
            .path("HF_HUB_CACHE")
            .or_else(|| environment.path("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| environment.path("HF_HOME").map(|path| path.join("hub")))
            .or_else(|| {
                let caches = xdg(environment, "XDG_CACHE_HOME").or_else(|| Some(person?.join(".cache")))?;
                Some(caches.join("huggingface").join("hub"))
            })
            .ok_or(PlacesError::NoHome)?;
        Ok(Self {
            home: absolute(home)?,
            hub_cache: absolute(hub_cache)?,
        })
    }

    #[must_use]
    pub fn engines(&self) -> PathBuf {
        self.home.join("engines")
    }
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.home.join("logs")
    }
    /// State that belongs to running processes: locks, the router's state file. Private.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.home.join("run")
    }
}

fn data_folder(environment: &Environment, person: Option<&Path>) -> Option<PathBuf> {
    if cfg!(windows) {
        let local = environment.path("LOCALAPPDATA");
        return local
            .or_else(|| Some(person?.join("AppData").join("Local")))
            .map(|path| path.join("Plimsoll"));
    }
    if cfg!(target_os = "macos") {
        return Some(
            person?
                .join("Library")
                .join("Application Support")
                .join("Plimsoll"),
        );
    }
    xdg(environment, "XDG_DATA_HOME")
        .or_else(|| Some(person?.join(".local").join("share")))
        .map(|path| path.join("plimsoll"))
}

/// `XDG_DOWNLOAD_DIR="$HOME/Téléchargements"`
fn downloads_in(text: &str, home: &Path) -> Option<PathBuf> {
    let value = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("XDG_DOWNLOAD_DIR="))?;
    let value = value.trim().trim_matches('"');
    match value.strip_prefix("$HOME/") {
        Some(rest) => Some(home.join(rest)),
        None => Some(PathBuf::from(value)).filter(|path| path.is_absolute()),
    }
}

/// The XDG rules say that a relative path is to be ignored.
fn xdg(environment: &Environment, name: &str) -> Option<PathBuf> {
    environment.path(name).filter(|path| path.is_absolute())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn downloads_are_where_the_person_s_system_says() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let environment = Environment::from_pairs([("HOME", home)]);
        assert_eq!(
            environment.downloads().as_deref(),
            Some(home),
            "there is no other folder"
        );
        for made in ["Downloads", "Herunterladen", ".config"] {
            std::fs::create_dir(home.join(made)).unwrap();
        }
        assert_eq!(environment.downloads(), Some(home.join("Downloads")));
        let named = "# made by xdg-user-dirs\nXDG_DOWNLOAD_DIR=\"$HOME/Herunterladen\"\n";
        crate::files::replace(&home.join(".config/user-dirs.dirs"), named.as_bytes()).unwrap();
        assert_eq!(environment.downloads(), Some(home.join("Herunterladen")));
    }

    #[test]
    fn folders_follow_the_variables_in_their_order() {
        type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);
        let table: [Row<'_>; 6] = [
            (
                &[("HOME", "/h")],
                "/h/.local/share/plimsoll",
                "/h/.cache/huggingface/hub",
            ),
            (
                &[("HOME", "/h"), ("XDG_DATA_HOME", "/d"), ("XDG_CACHE_HOME", "/c")],
                "/d/plimsoll",
                "/c/huggingface/hub",
            ),
            (
                &[("HOME", "/h"), ("XDG_DATA_HOME", "d")],
                "/h/.local/share/plimsoll",
                "/h/.cache/huggingface/hub",
            ),
            (
                &[("HOME", "/h"), ("HF_HOME", "~/hf"), ("PLIMSOLL_HOME", "/p")],
                "/p",
                "/h/hf/hub",
            ),
            (
                &[("HOME", "/h"), ("HF_HOME", "/hf"), ("HF_HUB_CACHE", "/hub")],
                "/h/.local/share/plimsoll",
                "/hub",
            ),
            (
                &[("HOME", "/h"), ("HF_HUB_CACHE", ""), ("PLIMSOLL_HOME", "/ä ö")],
                "/ä ö",
                "/h/.cache/huggingface/hub",
            ),
        ];
        for (given, home, hub) in table {
            let places = Places::from(&Environment::from_pairs(given.iter().copied())).unwrap();
            assert_eq!(places.home, Path::new(home), "for {given:?}");
            assert_eq!(places.hub_cache, Path::new(hub), "for {given:?}");
        }
    }

    #[test]
    fn without_a_home_folder_says_so() {
        assert!(matches!(
            Places::from(&Environment::default()),
            Err(PlacesError::NoHome)
        ));
    }

    #[test]
    fn values_are_never_printed() {
        let environment = Environment::from_pairs([("HF_TOKEN", "hf_secret")]);
        let shown = format!("{environment:?}");
        assert!(shown.contains("HF_TOKEN") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn empty_is_not_unset() {
        let environment = Environment::from_pairs([("CUDA_VISIBLE_DEVICES", ""), ("HF_HUB_OFFLINE", "True")]);
        assert_eq!(environment.get("CUDA_VISIBLE_DEVICES"), Some(""));
        assert_eq!(environment.filled("CUDA_VISIBLE_DEVICES"), None);
        assert!(environment.switched_on("HF_HUB_OFFLINE"));
    }
}
