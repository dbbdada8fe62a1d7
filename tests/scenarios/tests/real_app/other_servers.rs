//! A llama-server of the person's own beside ours.

use std::time::Duration;

use plimsoll_os::child::Command;
use plimsoll_os::process;
use plimsoll_testkit::real;
use plimsoll_wire::{FindServers, ForeignServer, IgnoreServer, UseServer};

use crate::room::{PATIENCE, Room};

/// Below the ephemeral range and nobody's default.
const PORT: u16 = 19_873;

async fn found(room: &Room) -> Option<ForeignServer> {
    let servers = room.app.ask(FindServers {}).await.unwrap().servers;
    servers.into_iter().find(|server| server.port == PORT)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_41_a_server_of_the_persons_own_is_shown_used_and_never_ended() {
    let room = Room::with_engine().await;
    let theirs = Command::new(real::engine_dir().join("llama-server"))
        .args(["-m", real::model(real::SMOLLM2).to_str().unwrap(), "-c", "2048"])
        .args(["--host", "127.0.0.1", "--port", &PORT.to_string()])
        .folder(real::engine_dir())
        .env("LD_LIBRARY_PATH", real::engine_dir())
        .env("PATH", "/usr/bin:/bin")
        .spawn()
        .unwrap();
    let server = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(server) = found(&room).await.filter(|server| !server.models.is_empty()) {
                return server;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!(server.pid, Some(theirs.pid()));
    assert!(server.memory_bytes.unwrap() > 50 << 20, "{server:?}");
    assert!(!server.used && !server.ignored && !server.wants_key, "{server:?}");

    let id = server.id.clone();
    let ignored = IgnoreServer {
        id: id.clone(),
        ignored: true,
    };
    room.app.ask(ignored).await.unwrap();
    assert!(found(&room).await.unwrap().ignored);
    room.app.ask(UseServer { id }).await.unwrap();
    let server = found(&room).await.unwrap();
    assert!(server.used && !server.ignored, "{server:?}");
    let conversation = room
        .conversation(&format!("@llama-server/{}", server.models[0]))
        .await;
    let answer = room.say(&conversation, "Say hello.").await;
    assert!(answer.went_well(), "{answer:?}");

    room.app.end().await;
    assert!(process::exists(theirs.pid()), "ours ends, theirs goes on");
    theirs.kill();
    theirs.wait().await;
}
