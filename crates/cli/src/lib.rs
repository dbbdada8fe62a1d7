//! The same calls from a terminal.
//!
//! Reads what was typed, asks the app, and shows replies: as tables and sentences for a person, as the wire
//! types in JSON for a program. Faults become exit code 1, wrong use 2, an interrupt 130.
//!
//! Never decides anything about machines, models or engines, never prints outside of `out`, never holds a
//! sentence outside of `lang/`.

mod args;
mod change;
mod failure;
mod gauge;
mod help;
mod interrupts;
mod lang;
mod out;
mod run;
mod show;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use plimsoll_os::environment::Environment;

use crate::args::Cli;
use crate::failure::Failure;
use crate::lang::Lang;
use crate::out::{Detail, Form, Out};

/// The whole command: what was typed in, an exit code out.
pub fn main(typed: impl IntoIterator<Item = OsString>) -> ExitCode {
    let environment = Environment::read();
    let command = help::speak(Cli::command(), &Lang::of(&environment));
    let cli = match command
        .try_get_matches_from(typed)
        .and_then(|found| Cli::from_arg_matches(&found))
    {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers and exit with 0; the rest is wrong use and exits with 2.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let form = if cli.json { Form::Json } else { Form::Person };
    let detail = if cli.verbose { Detail::Full } else { Detail::Short };
    log(&environment, detail);
    let out = Out::new(&environment, form, detail);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            out.bad(&error.to_string());
            return ExitCode::FAILURE;
        }
    };
    let (out, done) = runtime.block_on(run::run(cli, &environment, out));
    // A thread may still wait for a line that nobody will type.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&out, &failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn tell(out: &Out, failure: &Failure) {
    match failure {
        Failure::Fault(fault) => match out.form {
            Form::Json => out.json_error(fault),
            Form::Person => out.note(&show::fault(out, fault)),
        },
        Failure::Told | Failure::Interrupted => {}
    }
}

/// What the parts say while they work: nothing, warnings with `--verbose`, or what `PLIMSOLL_LOG` asks for.
fn log(environment: &Environment, detail: Detail) {
    let usual = match detail {
        Detail::Short => "off",
        Detail::Full => "plimsoll=info,warn",
    };
    let wanted = environment.filled("PLIMSOLL_LOG").unwrap_or(usual);
    let filter = tracing_subscriber::EnvFilter::builder().parse_lossy(wanted);
    let printing = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(anstream::stderr);
    // Only a second subscriber in one process could fail here.
    let _ = printing.try_init();
}
