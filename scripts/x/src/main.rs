//! Developer entry points: `cargo x gen` writes the TypeScript contract, `cargo x tidy` checks the tree.

use std::path::PathBuf;
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
}

fn main() -> ExitCode {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    match Args::parse().what {
        What::Gen { check } => {
            let path = root.join("ui/src/wire/wire.ts");
            let want = plimsoll_wire::typescript();
            if check {
                let have = std::fs::read_to_string(&path).unwrap_or_default();
                if have != want {
                    anstream::eprintln!("ui/src/wire/wire.ts is out of date: run `cargo x gen`");
                    return ExitCode::FAILURE;
                }
            } else if let Err(problem) = plimsoll_os::files::replace(&path, want.as_bytes()) {
                anstream::eprintln!("{problem}");
                return ExitCode::FAILURE;
            }
            ExitCode::SUCCESS
        }
    }
}
