use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_os::Environment;
use plimsoll_os::child::{self, Command, Output};
use plimsoll_units::Bytes;

use super::Abilities;
use super::environment::engine_environment;
use crate::error::{EngineError, Step};
use crate::log::{Cause, cause};

/// The first start of a build with large libraries from a cold disk.
const VERSION_MAX: Duration = Duration::from_mins(1);
/// Drivers may take their time to wake.
const DEVICES_MAX: Duration = Duration::from_mins(2);
const OUTPUT_MAX: Bytes = Bytes::mib(1);
/// What of an engine's words goes into a report.
const DETAIL_CHARS_MAX: usize = 600;

pub(super) const SERVER: &str = if cfg!(windows) {
    "llama-server.exe"
} else {
    "llama-server"
};

/// How one step went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub step: Step,
    pub passed: bool,
    /// What was found, or what the engine printed.
    pub detail: String,
}

/// What a build is, found by running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Probed {
    pub version: String,
    pub backends: Vec<String>,
    pub abilities: Abilities,
    /// As `--list-devices` prints them.
    pub devices: Vec<String>,
}

/// All steps in order; the first that fails ends it.
pub(super) async fn probe(binary: &Path, ours: &Environment) -> (Vec<Checked>, Result<Probed, EngineError>) {
    let mut steps = Vec::new();
    let result = run_steps(binary, ours, &mut steps).await;
    if let Err(error) = &result {
        let step = match steps.len() {
            0 => Step::Files,
            1 => Step::Version,
            2 => Step::Abilities,
            _ => Step::Devices,
        };
        steps.push(Checked {
            step,
            passed: false,
            detail: shorten(&error.to_string()),
        });
    }
    (steps, result)
}

async fn run_steps(
    binary: &Path,
    ours: &Environment,
    steps: &mut Vec<Checked>,
) -> Result<Probed, EngineError> {
    let folder = folder_of(binary);
    let mut passed = |step, detail: &str| {
        steps.push(Checked {
            step,
            passed: true,
            detail: shorten(detail),
        });
    };

    let backends = backends_beside(binary)?;
    passed(Step::Files, &backends.join(", "));

    let said = run(Step::Version, binary, "--version", ours, VERSION_MAX).await?;
    let both = format!("{}\n{}", said.out_text(), said.err_text());
    let version = version_in(&both).ok_or_else(|| EngineError::EngineCheckFailed {
        step: Step::Version,
        output: shorten(&both),
    })?;
    passed(Step::Version, &version);

    let help = run(Step::Abilities, binary, "--help", ours, VERSION_MAX).await?;
    let abilities = Abilities::from_help(&format!("{}\n{}", help.out_text(), help.err_text()));
    let lacking = abilities.missing();
    if !lacking.is_empty() {
        let output = format!("no {}", lacking.join(", "));
        return Err(EngineError::EngineCheckFailed {
            step: Step::Abilities,
            output,
        });
    }
    passed(Step::Abilities, &format!("{} options", abilities.count()));

    let devices = if abilities.knows("--list-devices") {
        let said = run(Step::Devices, binary, "--list-devices", ours, DEVICES_MAX).await?;
        devices_in(&said.out_text())
    } else {
        Vec::new()
    };
    passed(
        Step::Devices,
        &if devices.is_empty() {
            "none beside the processor".to_owned()
        } else {
            devices.join("; ")
        },
    );
    tracing::debug!(folder = %folder.display(), %version, "an engine passed its checks");
    Ok(Probed {
        version,
        backends,
        abilities,
        devices,
    })
}

/// llama-server in a folder, or the file itself.
pub(super) fn find_server(path: &Path) -> Result<PathBuf, EngineError> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let places = [
        absolute.clone(),
        absolute.join(SERVER),
        absolute.join("bin").join(SERVER),
        absolute.join("build/bin").join(SERVER),
    ];
    places
        .into_iter()
        .find(|place| place.is_file())
        .ok_or_else(|| EngineError::NoServerThere {
            path: path.to_owned(),
        })
}

pub(super) fn folder_of(binary: &Path) -> PathBuf {
    binary.parent().map(Path::to_owned).unwrap_or_default()
}

/// The backends whose libraries lie beside the binary. A build without any is linked into one piece.
fn backends_beside(binary: &Path) -> Result<Vec<String>, EngineError> {
    let folder = folder_of(binary);
    if !binary.is_file() {
        return Err(EngineError::EngineIncomplete {
            folder,
            missing: vec![SERVER.to_owned()],
        });
    }
    let names: BTreeSet<String> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| ggml_library(entry.file_name().to_str()?))
        .collect();
    if names.is_empty() {
        return Ok(vec!["cpu".to_owned()]);
    }
    let family = |name: &str| name.split('-').next().unwrap_or(name).to_owned();
    let backends: BTreeSet<String> = names
        .iter()
        .filter(|name| *name != "base")
        .map(|name| family(name))
        .collect();
    if backends.contains("cpu") {
        Ok(backends.into_iter().collect())
    } else {
        // Without it nothing runs, whatever else is there.
        Err(EngineError::EngineIncomplete {
            folder,
            missing: vec!["ggml-cpu".to_owned()],
        })
    }
}

/// `libggml-cpu-haswell.so` → `cpu-haswell`; `libggml.so` and other libraries are none.
fn ggml_library(file: &str) -> Option<String> {
    let stem = file.strip_prefix("lib").unwrap_or(file).strip_prefix("ggml-")?;
    let library = [".so", ".dll", ".dylib"]
        .iter()
        .find_map(|end| stem.split_once(end))?;
    (!library.0.is_empty()).then(|| library.0.to_ascii_lowercase())
}

async fn run(
    step: Step,
    binary: &Path,
    argument: &str,
    ours: &Environment,
    limit: Duration,
) -> Result<Output, EngineError> {
    let folder = folder_of(binary);
    let said = child::run_to_end(command(binary, ours).arg(argument), limit, OUTPUT_MAX).await?;
    if said.exit.is_success() {
        return Ok(said);
    }
    let both = format!("{}\n{}", said.out_text(), said.err_text());
    let lines: Vec<&str> = both.lines().collect();
    let cause = cause(&lines, said.exit);
    if let Cause::MissingLibrary { name } = cause {
        let mut missing = missing_libraries(binary, ours).await;
        if missing.is_empty() {
            missing.push(name);
        }
        return Err(EngineError::EngineIncomplete { folder, missing });
    }
    if cause == Cause::IllegalInstruction {
        return Err(EngineError::IllegalInstruction {
            program: binary.to_owned(),
        });
    }
    let output = format!("{}: {}", said.exit, shorten(both.trim()));
    Err(EngineError::EngineCheckFailed { step, output })
}

fn command(binary: &Path, ours: &Environment) -> Command {
    let folder = folder_of(binary);
    Command::new(binary)
        .envs(engine_environment(ours, &folder))
        .folder(folder)
}

/// All that the dynamic linker does not find, not only the first: what `ldd` does. Elsewhere than on Linux
/// nobody can say it, and the first stands alone.
async fn missing_libraries(binary: &Path, ours: &Environment) -> Vec<String> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    let trace: (OsString, OsString) = ("LD_TRACE_LOADED_OBJECTS".into(), "1".into());
    let traced = child::run_to_end(command(binary, ours).envs([trace]), VERSION_MAX, OUTPUT_MAX).await;
    let text = traced.map(|said| said.out_text()).unwrap_or_default();
    let missing: BTreeSet<String> = text
        .lines()
        .filter_map(|line| {
            line.split_once("=> not found")
                .map(|(name, _)| name.trim().to_owned())
        })
        .collect();
    missing.into_iter().collect()
}

/// `version: 0.1.0-dev (build 1, commit 7e4c0a9)`
fn version_in(text: &str) -> Option<String> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix("version: "))
        .map(|version| version.chars().take(120).collect())
}

fn devices_in(text: &str) -> Vec<String> {
    text.lines()
        .skip_while(|line| !line.starts_with("Available devices"))
        .skip(1)
        .map_while(|line| line.strip_prefix("  "))
        .filter(|line| *line != "(none)")
        .take(64)
        .map(|line| line.chars().take(200).collect())
        .collect()
}

fn shorten(text: &str) -> String {
    text.chars().take(DETAIL_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_name_their_backends() {
        let names = [
            "libggml-cpu-haswell.so",
            "libggml-vulkan.so.0.20.0",
            "ggml-cuda.dll",
            "libggml-metal.dylib",
        ];
        let got: Vec<_> = names.iter().filter_map(|name| ggml_library(name)).collect();
        assert_eq!(got, ["cpu-haswell", "vulkan", "cuda", "metal"]);
        for none in ["libggml.so", "libllama.so", "ggml-rpc-server", "libggml-.so"] {
            assert_eq!(ggml_library(none), None, "{none}");
        }
    }

    #[test]
    fn devices_and_versions_are_read_from_what_is_printed() {
        let said = "noise\nAvailable devices:\n  Vulkan0: llvmpipe (31000 MiB, 31000 MiB free)\n  RPC0: x (1 MiB, 1 MiB free)\n\nmore";
        assert_eq!(devices_in(said).len(), 2);
        assert!(devices_in("Available devices:\n  (none)\n").is_empty());
        let version = version_in("loading\nversion: 5001 (abcdef)\nbuilt with x");
        assert_eq!(version.as_deref(), Some("5001 (abcdef)"));
    }

    #[test]
    fn a_folder_without_its_cpu_library_is_incomplete() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| plimsoll_os::files::replace(&folder.path().join(name), b"x").unwrap();
        put(SERVER);
        let server = find_server(folder.path()).unwrap();
        assert_eq!(
            backends_beside(&server).unwrap(),
            ["cpu"],
            "linked into one piece"
        );
        put("libggml-base.so");
        put("libggml-vulkan.so");
        let error = backends_beside(&server).unwrap_err();
        assert!(matches!(error, EngineError::EngineIncomplete { missing, .. } if missing == ["ggml-cpu"]));
        put("libggml-cpu-zen4.so");
        assert_eq!(backends_beside(&server).unwrap(), ["cpu", "vulkan"]);
        assert!(matches!(
            find_server(&folder.path().join("none")),
            Err(EngineError::NoServerThere { .. })
        ));
    }
}
