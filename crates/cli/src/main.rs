//! `plimsoll`, the command.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = plimsoll_app::driver_child() {
        return code;
    }
    plimsoll_cli::main(std::env::args_os())
}
