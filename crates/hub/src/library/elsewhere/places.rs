use std::path::{Path, PathBuf};

use plimsoll_os::{Environment, files};
use plimsoll_units::Bytes;
use serde_json::Value;

use super::{Keeper, Source};

/// A pointer is one line, LM Studio's settings some kilobytes.
const SETTINGS_MAX: Bytes = Bytes::mib(1);

/// Where other programs keep their models, by their own rules. The folders need not be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherPlaces(pub Vec<Source>);

impl OtherPlaces {
    /// What the environment says, with the places of whole systems below `root` (`/`).
    #[must_use]
    pub fn from_environment(environment: &Environment, root: &Path) -> Self {
        let mut places = Self::default();
        let person = environment.home_of_person();
        places.add_all(Keeper::LmStudio, lm_studio(person.as_deref()));
        places.add_all(Keeper::Ollama, ollama(environment, person.as_deref(), root));
        places.add_all(Keeper::LlamaCpp, llama_cpp(environment, person.as_deref()));
        if let Some(data) = data(environment, person.as_deref()) {
            places.add_all(Keeper::Jan, [data.join("Jan/data/llamacpp/models")]);
            places.add_all(Keeper::Gpt4All, [data.join("nomic.ai/GPT4All")]);
        }
        if let Some(named) = environment.path("PLIMSOLL_MODEL_FOLDERS") {
            places.add_all(Keeper::Folder, split(&named));
        }
        places
    }

    fn add_all(&mut self, keeper: Keeper, folders: impl IntoIterator<Item = PathBuf>) {
        for folder in folders {
            // A relative one would mean another folder wherever we are started.
            if folder.is_absolute() && !self.0.iter().any(|known| known.folder == folder) {
                self.0.push(Source { keeper, folder });
            }
        }
    }
}

/// A list as `PATH` has it.
fn split(named: &Path) -> Vec<PathBuf> {
    std::env::split_paths(named.as_os_str())
        .filter(|path| !path.as_os_str().is_empty())
        .collect()
}

/// Its folder moved once, and a person may have moved it again.
fn lm_studio(person: Option<&Path>) -> Vec<PathBuf> {
    let Some(person) = person else {
        return Vec::new();
    };
    let read = |path: &Path| files::read_up_to(path, SETTINGS_MAX).ok();
    let pointed = read(&person.join(".lmstudio-home-pointer"))
        .and_then(|text| Some(PathBuf::from(String::from_utf8(text).ok()?.trim())));
    let home = pointed.unwrap_or_else(|| person.join(".lmstudio"));
    let chosen = read(&home.join("settings.json")).and_then(|text| {
        let settings: Value = serde_json::from_slice(&text).ok()?;
        Some(PathBuf::from(settings.get("downloadsFolder")?.as_str()?))
    });
    chosen
        .into_iter()
        .chain([
            home.join("models"),
            person.join(".lmstudio/models"),
            person.join(".cache/lm-studio/models"),
        ])
        .collect()
}

/// Its own folder, and those of the service that its installer and distributions make.
fn ollama(environment: &Environment, person: Option<&Path>, root: &Path) -> Vec<PathBuf> {
    let named = environment.path("OLLAMA_MODELS");
    let own = person.map(|person| person.join(".ollama/models"));
    let systems = [
        "usr/share/ollama/.ollama/models",
        "var/lib/ollama/.ollama/models",
        "var/lib/ollama",
    ]
    .map(|path| root.join(path));
    named.into_iter().chain(own).chain(systems).collect()
}

fn llama_cpp(environment: &Environment, person: Option<&Path>) -> Option<PathBuf> {
    if let Some(named) = environment.path("LLAMA_CACHE") {
        return Some(named);
    }
    let caches = if cfg!(windows) {
        environment.path("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        person.map(|person| person.join("Library/Caches"))
    } else {
        let given = environment.path("XDG_CACHE_HOME");
        given.or_else(|| Some(person?.join(".cache")))
    };
    Some(caches?.join("llama.cpp"))
}

/// Where programs of the desktop keep their data.
fn data(environment: &Environment, person: Option<&Path>) -> Option<PathBuf> {
    if cfg!(windows) {
        environment.path("APPDATA")
    } else if cfg!(target_os = "macos") {
        person.map(|person| person.join("Library/Application Support"))
    } else {
        let given = environment.path("XDG_DATA_HOME");
        given.or_else(|| Some(person?.join(".local/share")))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;

    use plimsoll_os::{Environment, files};

    use super::{Keeper, OtherPlaces};

    fn of(keeper: Keeper, places: &OtherPlaces) -> Vec<String> {
        let own = places.0.iter().filter(|source| source.keeper == keeper);
        own.map(|source| source.folder.display().to_string()).collect()
    }

    #[test]
    fn every_program_is_looked_for_where_it_keeps_its_models() {
        let environment = Environment::from_pairs([("HOME", "/h")]);
        let places = OtherPlaces::from_environment(&environment, Path::new("/"));
        assert_eq!(
            of(Keeper::LmStudio, &places),
            ["/h/.lmstudio/models", "/h/.cache/lm-studio/models"]
        );
        assert_eq!(
            of(Keeper::Ollama, &places),
            [
                "/h/.ollama/models",
                "/usr/share/ollama/.ollama/models",
                "/var/lib/ollama/.ollama/models",
                "/var/lib/ollama"
            ]
        );
        assert_eq!(of(Keeper::LlamaCpp, &places), ["/h/.cache/llama.cpp"]);
        assert_eq!(
            (of(Keeper::Jan, &places), of(Keeper::Folder, &places)),
            (
                vec!["/h/.local/share/Jan/data/llamacpp/models".to_owned()],
                vec![]
            )
        );
    }

    #[test]
    fn what_a_person_set_for_them_is_honoured() {
        let person = tempfile::tempdir().unwrap();
        let home = person.path().join("elsewhere");
        files::create_dir(&home).unwrap();
        files::replace(
            &person.path().join(".lmstudio-home-pointer"),
            format!("{}\n", home.display()).as_bytes(),
        )
        .unwrap();
        files::replace(&home.join("settings.json"), br#"{"downloadsFolder":"/big/lm"}"#).unwrap();
        let environment = Environment::from_pairs([
            ("HOME", person.path().to_str().unwrap()),
            ("OLLAMA_MODELS", "/big/ollama"),
            ("LLAMA_CACHE", "/big/llama"),
            ("PLIMSOLL_MODEL_FOLDERS", "/big/a:/big/b::relative"),
        ]);
        let places = OtherPlaces::from_environment(&environment, Path::new("/"));
        assert_eq!(of(Keeper::LmStudio, &places)[0], "/big/lm");
        assert_eq!(
            of(Keeper::LmStudio, &places)[1],
            home.join("models").to_str().unwrap()
        );
        assert_eq!(of(Keeper::Ollama, &places)[0], "/big/ollama");
        assert_eq!(of(Keeper::LlamaCpp, &places), ["/big/llama"]);
        assert_eq!(of(Keeper::Folder, &places), ["/big/a", "/big/b"]);
    }
}
