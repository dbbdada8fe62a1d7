//! Names that came from outside and are about to become paths.
//!
//! One rule for every system, so that a library copied from Linux opens on Windows: what would be unsafe or
//! impossible on one of them is refused on all. Spaces and any script are kept.

/// The limit of every common file system, in bytes of UTF-8.
const COMPONENT_BYTES_MAX: usize = 255;
const PATH_BYTES_MAX: usize = 1024;
const COMPONENTS_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeName {
    #[error("a name is empty")]
    Empty,
    #[error("a name of {bytes} bytes is longer than {limit}")]
    TooLong { bytes: usize, limit: usize },
    #[error("a path of {depth} folders is deeper than {limit}")]
    TooDeep { depth: usize, limit: usize },
    #[error("{name:?} leads out of its folder")]
    LeadsOut { name: String },
    #[error("{name:?} holds the character {character:?}")]
    Character { name: String, character: char },
    #[error("{name:?} is reserved on Windows")]
    Reserved { name: String },
    #[error("{name:?} ends in a dot or a space, which Windows drops")]
    Ending { name: String },
}

/// One file or folder name.
pub fn safe_component(name: &str) -> Result<String, UnsafeName> {
    if name.is_empty() {
        return Err(UnsafeName::Empty);
    }
    if name.len() > COMPONENT_BYTES_MAX {
        return Err(UnsafeName::TooLong {
            bytes: name.len(),
            limit: COMPONENT_BYTES_MAX,
        });
    }
    let own = || name.to_owned();
    if name == "." || name == ".." {
        return Err(UnsafeName::LeadsOut { name: own() });
    }
    if let Some(character) = name
        .chars()
        .find(|&c| c.is_control() || r#"/\<>:"|?*"#.contains(c))
    {
        return Err(UnsafeName::Character {
            name: own(),
            character,
        });
    }
    if name.ends_with(['.', ' ']) {
        return Err(UnsafeName::Ending { name: own() });
    }
    if is_reserved(name) {
        return Err(UnsafeName::Reserved { name: own() });
    }
    Ok(own())
}

/// A relative path with `/` between its parts, every part a [`safe_component`].
pub fn safe_relative(path: &str) -> Result<String, UnsafeName> {
    if path.len() > PATH_BYTES_MAX {
        return Err(UnsafeName::TooLong {
            bytes: path.len(),
            limit: PATH_BYTES_MAX,
        });
    }
    if path.starts_with('/') {
        return Err(UnsafeName::LeadsOut {
            name: path.to_owned(),
        });
    }
    let depth = path.split('/').count();
    if depth > COMPONENTS_MAX {
        return Err(UnsafeName::TooDeep {
            depth,
            limit: COMPONENTS_MAX,
        });
    }
    for component in path.split('/') {
        safe_component(component)?;
    }
    Ok(path.to_owned())
}

/// `NUL`, `com1.gguf` and kin open a device, whatever follows the first dot.
fn is_reserved(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or(name)
        .trim_end()
        .to_ascii_uppercase();
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str()) {
        return true;
    }
    let Some(rest) = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT")) else {
        return false;
    };
    // Windows takes superscript digits for digits here.
    matches!(
        rest,
        "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
    )
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keeps_what_is_merely_unusual() {
        for name in [
            "a b.gguf",
            "モデル.gguf",
            ".hidden",
            "über-Größe",
            "comma,semi;",
            "console",
            "com",
            "nullify.txt",
            "a..b",
        ] {
            assert_eq!(safe_component(name).as_deref(), Ok(name));
        }
        assert_eq!(
            safe_relative("UD-Q4_K_XL/part 1.gguf").as_deref(),
            Ok("UD-Q4_K_XL/part 1.gguf")
        );
    }

    #[test]
    fn refuses_what_breaks_out_or_breaks_windows() {
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            "a\0b",
            "a\nb",
            "c:",
            "nul",
            "NUL.gguf",
            "Com1.tar.gz",
            "com¹",
            "x.",
            "x ",
            "what?",
        ] {
            assert!(safe_component(name).is_err(), "{name:?} passed");
        }
        for path in [
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            "a/./b",
            "C:/x",
            "\\\\host\\share",
            "a/nul",
        ] {
            assert!(safe_relative(path).is_err(), "{path:?} passed");
        }
        assert!(safe_component(&"ä".repeat(128)).is_err(), "256 bytes");
        assert!(safe_relative(&["a"; 40].join("/")).is_err(), "40 deep");
    }

    proptest! {
        #[test]
        fn what_passes_stays_inside_its_folder(path in "\\PC{0,40}|[./\\\\a-c: ]{0,12}") {
            if let Ok(safe) = safe_relative(&path) {
                prop_assert_eq!(&safe, &path, "nothing is silently renamed");
                let inside = Path::new(&safe).components().all(|part| matches!(part, Component::Normal(_)));
                prop_assert!(inside, "{safe:?}");
            }
        }
    }
}
