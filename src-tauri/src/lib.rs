//! The desktop shell: a window, one command in, one channel out.
//!
//! Starts the app and the front for other programs, shows the page, and ends both when the window closes.
//! Everything a person can do goes through the app's call table, so this crate has no feature of its own.
//!
//! Never gives the page a file system, a process or a network; never decides anything; never holds state that
//! the terminal or a browser could not have as well.

mod desk;
mod log;
mod window;

use std::process::ExitCode;
use std::sync::Arc;

use plimsoll_app::{App, Config};
use plimsoll_os::Environment;
use plimsoll_web::{FRONT_PORT, KeptFront};
use plimsoll_wire::Fault;
use tauri::{Builder, Context, Manager as _, RunEvent, Runtime};

pub use desk::Desk;
pub use window::open as open_window;

/// Runs until the window is closed.
#[must_use]
pub fn run() -> ExitCode {
    if let Some(code) = plimsoll_app::driver_child() {
        return code;
    }
    let environment = Environment::read();
    let desk = tauri::async_runtime::block_on(open(&environment));
    let built = build(Builder::default(), context(), desk);
    match built {
        Ok(app) => {
            app.run(|app, event| {
                if let RunEvent::Exit = event {
                    tauri::async_runtime::block_on(app.state::<Desk>().close());
                }
            });
            ExitCode::SUCCESS
        }
        Err(problem) => {
            tracing::error!(%problem, "the window could not be opened");
            // A desktop program has no terminal to rely on, but where there is one, silence would be worse.
            #[expect(
                clippy::print_stderr,
                reason = "the window is what failed; there is no other place"
            )]
            {
                eprintln!("Plimsoll could not open its window: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Starts everything behind the window. A fault does not keep the window closed: it is what the page shows.
async fn open(environment: &Environment) -> Desk {
    match start(environment).await {
        Ok((app, front)) => Desk::new(Ok(app), Some(front)),
        Err(fault) => {
            tracing::error!(?fault, "the app did not start");
            Desk::new(Err(fault), None)
        }
    }
}

async fn start(environment: &Environment) -> Result<(Arc<App>, KeptFront), Fault> {
    let config = Config::from(environment)?;
    // A graphics driver that crashes when asked takes a child down, not the window.
    let config = match std::env::current_exe() {
        Ok(program) => config.with_driver_child(program),
        Err(_) => config,
    };
    log::start(&config.home, environment);
    let app = App::start(config).await?;
    app.take_up_transfers();
    app.watch_library();
    // Other programs lose their door when all its ports are taken; the window works all the same, and the
    // settings page shows why and tries again.
    let front = KeptFront::start(Arc::clone(&app), FRONT_PORT).await;
    Ok((app, front))
}

/// The window and its two commands over any runtime: the real one, or a test's.
pub fn build<R: Runtime>(
    builder: Builder<R>,
    context: Context<R>,
    desk: Desk,
) -> tauri::Result<tauri::App<R>> {
    builder
        .manage(desk)
        .invoke_handler(tauri::generate_handler![desk::call, desk::listen])
        .setup(|app| {
            window::open(app.handle())?;
            Ok(())
        })
        .build(context)
}

/// Configuration, page and permissions, as they are compiled in.
#[must_use]
pub fn context<R: Runtime>() -> Context<R> {
    tauri::generate_context!()
}
