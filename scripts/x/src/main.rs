//! Developer entry points: `cargo x gen` writes the TypeScript contract, `cargo x tidy` checks the tree.

mod layers;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "x", about = "Developer entry points")]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write ui/src/wire/wire.ts from crates/wire
    Gen {
        /// Compare instead of writing; fails when they differ
        #[arg(long)]
        check: bool,
    },
    /// Check layers, file sizes, stubs, purity and ARCHITECTURE.md
    Tidy,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    File(#[from] plimsoll_os::files::FileError),
    #[error("reading the tree: {0}")]
    Tree(#[from] std::io::Error),
    #[error("asking cargo about the workspace: {0}")]
    Cargo(#[from] cargo_metadata::Error),
    #[error("ui/src/wire/wire.ts is out of date: run `cargo x gen`")]
    Outdated,
    #[error("{0} things to tidy")]
    Untidy(usize),
}

fn main() -> ExitCode {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let done = match Args::parse().what {
        What::Gen { check } => generate(&root, check),
        What::Tidy => tidy(&root),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn generate(root: &Path, check: bool) -> Result<(), Failure> {
    let path = root.join("ui/src/wire/wire.ts");
    let want = plimsoll_wire::typescript();
    if !check {
        return Ok(plimsoll_os::files::replace(&path, want.as_bytes())?);
    }
    if std::fs::read_to_string(&path)? == want {
        Ok(())
    } else {
        Err(Failure::Outdated)
    }
}

fn tidy(root: &Path) -> Result<(), Failure> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()?;
    let sources = tree::read(root)?;
    let mut findings = tree::check(&sources);
    findings
        .wrong
        .extend(layers::complaints(&layers::crates(&metadata)));
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let packages = metadata.workspace_packages();
    for package in &packages {
        let manifest = std::fs::read_to_string(&package.manifest_path)?;
        let folder = package
            .manifest_path
            .parent()
            .and_then(|at| at.strip_prefix(&metadata.workspace_root).ok());
        let folder = folder
            .map(|at| at.as_str().replace('\\', "/"))
            .unwrap_or_default();
        findings
            .wrong
            .extend(tree::check_crate(&folder, &manifest, &architecture));
    }
    for line in &findings.worth_saying {
        anstream::eprintln!("note: {line}");
    }
    for line in &findings.wrong {
        anstream::eprintln!("{line}");
    }
    if !findings.wrong.is_empty() {
        return Err(Failure::Untidy(findings.wrong.len()));
    }
    anstream::println!("tidy: {} crates, {} files", packages.len(), sources.len());
    Ok(())
}
