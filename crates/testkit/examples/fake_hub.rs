//! The fake hub as a program, for measurements and for other tools' clients. Ends when its input ends.
//!
//! `fake_hub REPO PATH MIB [each=BYTES_PER_S] [all=BYTES_PER_S] [delay=MS] [plain]`
//!
//! Prints one line of JSON with its address and the file's sha256. Each line of input is answered with the bytes
//! of content that have left so far.

#![expect(
    clippy::unwrap_used,
    reason = "a tool for developers; what goes wrong is shown"
)]

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use plimsoll_testkit::hub::{FakeFile, FakeHub, Weather};

/// Bytes that no compression helps with, quickly.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut out = Vec::with_capacity(bytes + 8);
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(bytes);
    out
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (repo, path) = (arguments.next().unwrap(), arguments.next().unwrap());
    let mib: usize = arguments.next().unwrap().parse().unwrap();
    let mut weather = Weather::default();
    let mut plain = false;
    for argument in arguments {
        match argument.split_once('=') {
            Some(("each", rate)) => weather.each = Some(rate.parse().unwrap()),
            Some(("all", rate)) => weather.all = Some(rate.parse().unwrap()),
            Some(("delay", ms)) => weather.delay = Duration::from_millis(ms.parse().unwrap()),
            _ => plain = argument == "plain",
        }
    }
    let bytes = noise(mib << 20);
    let file = if plain {
        FakeFile::plain(bytes)
    } else {
        FakeFile::lfs(bytes)
    };
    let sha256 = file.sha256().to_owned();
    let fake = FakeHub::start().await;
    let commit = fake.commit(&repo, &[(&path, file)]);
    fake.weather(weather);
    let mut out = std::io::stdout();
    let about = serde_json::json!({ "endpoint": fake.endpoint(), "sha256": sha256, "commit": commit });
    writeln!(out, "{about}").unwrap();
    let lines = tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lock().lines() {
            if line.is_err() {
                break;
            }
            writeln!(out, "{}", fake.sent()).unwrap();
        }
        // What other tools' clients do is no business of our strictness.
        drop(fake.complaints());
    });
    lines.await.unwrap();
}
