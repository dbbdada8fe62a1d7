// No console window beside ours on Windows.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]
//! The desktop program. What it does is in the library, where a test can reach it.

fn main() -> std::process::ExitCode {
    plimsoll_desktop::run()
}
