//! Where the real engine, the real models and other people's clients lie. `scripts/test` fetches them and sets the
//! variables; a test that needs them and does not find them fails and says so.

use std::path::PathBuf;

/// Names of the three real models, as [`model`] wants them.
pub const SMOLLM2: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
pub const QWEN_CODER: &str = "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf";
pub const GEMMA3: &str = "gemma-3-270m-Q4_K_M.gguf";

/// The folder with a real `llama-server`.
///
/// # Panics
/// When `PLIMSOLL_TEST_ENGINE` is not set or holds no engine.
#[must_use]
pub fn engine_dir() -> PathBuf {
    let folder = folder("PLIMSOLL_TEST_ENGINE");
    let binary = folder.join(if cfg!(windows) {
        "llama-server.exe"
    } else {
        "llama-server"
    });
    assert!(
        binary.is_file(),
        "PLIMSOLL_TEST_ENGINE points at {}, where no llama-server is. scripts/test fetches one and sets it.",
        folder.display()
    );
    folder
}

/// A real model file.
///
/// # Panics
/// When `PLIMSOLL_TEST_MODELS` is not set or does not hold the file.
#[must_use]
pub fn model(name: &str) -> PathBuf {
    let path = folder("PLIMSOLL_TEST_MODELS").join(name);
    assert!(
        path.is_file(),
        "{} is not there. scripts/test fetches the models and sets PLIMSOLL_TEST_MODELS.",
        path.display()
    );
    path
}

/// The hub's own command-line client.
///
/// # Panics
/// When `PLIMSOLL_TEST_HF` is not set or points at nothing.
#[must_use]
pub fn hf() -> PathBuf {
    let path = folder("PLIMSOLL_TEST_HF");
    assert!(
        path.is_file(),
        "{} is not there. scripts/test fetches the hub's client and sets PLIMSOLL_TEST_HF.",
        path.display()
    );
    path
}

/// A Python that has the official clients of OpenAI and Anthropic.
///
/// # Panics
/// When `PLIMSOLL_TEST_CLIENTS` is not set or points at nothing.
#[must_use]
pub fn python_clients() -> PathBuf {
    let path = folder("PLIMSOLL_TEST_CLIENTS");
    assert!(
        path.is_file(),
        "{} is not there. scripts/test fetches the clients and sets PLIMSOLL_TEST_CLIENTS.",
        path.display()
    );
    path
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where tests are told where real things lie"
)]
fn folder(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable).unwrap_or_default();
    assert!(
        !value.is_empty(),
        "{variable} is not set: this test needs real files. Run it through scripts/test, which fetches them."
    );
    PathBuf::from(value)
}
