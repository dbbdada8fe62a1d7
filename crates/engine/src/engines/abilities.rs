use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// No build lists more options than this; the rest of a longer text is not read.
const OPTIONS_MAX: usize = 4_096;
/// Without these it cannot be our router.
const NEEDED: [&str; 5] = [
    "--models-preset",
    "--models-max",
    "--no-models-autoload",
    "--host",
    "--port",
];

/// What a build can do, as its own help says. Never judged by a version number: packagers print their own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Abilities {
    options: BTreeSet<String>,
}

impl Abilities {
    /// Lines that start with a dash list the names of one option, then a hint of its value.
    #[must_use]
    pub fn from_help(help: &str) -> Self {
        let options = help
            .lines()
            .filter(|line| line.starts_with('-'))
            .flat_map(|line| {
                line.split([',', ' '])
                    .filter(|word| !word.is_empty())
                    .take_while(|word| word.starts_with('-'))
            })
            .filter(|name| name.len() <= 64 && name.contains(|c: char| c.is_ascii_alphanumeric()))
            .take(OPTIONS_MAX)
            .map(str::to_owned)
            .collect();
        Self { options }
    }

    #[must_use]
    pub fn knows(&self, option: &str) -> bool {
        self.options.contains(option)
    }

    /// The options without which this build cannot be a router.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        NEEDED.into_iter().filter(|option| !self.knows(option)).collect()
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.options.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_values_and_texts_are_not() {
        let help = [
            "----- common params -----",
            "",
            "-h,    --help, --usage                  print usage and exit",
            "-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers to store in VRAM, either -1",
            "--host HOST                             ip address to listen",
            "                                        --not-an-option in a text",
            "--models-autoload, --no-models-autoload",
        ];
        let abilities = Abilities::from_help(&help.join("\n"));
        for option in [
            "-h",
            "--usage",
            "-ngl",
            "--n-gpu-layers",
            "--host",
            "--no-models-autoload",
        ] {
            assert!(abilities.knows(option), "{option}");
        }
        for none in ["N", "-1", "--not-an-option", "HOST", "-", "-----"] {
            assert!(!abilities.knows(none), "{none}");
        }
        assert_eq!(abilities.missing(), ["--models-preset", "--models-max", "--port"]);
    }
}
