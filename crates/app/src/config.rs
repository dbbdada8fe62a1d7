use std::path::PathBuf;

/// What the app is told once, at its start: places and the environment. Nothing below reads the environment.
#[derive(Debug, Clone)]
pub struct Config {
    /// Database, engines, logs and the router's state live here.
    pub home: PathBuf,
}
