//! A loopback port near the one people wrote down.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::WebError;

/// How many ports above the wanted one are tried.
const PORTS_MAX: u16 = 10;
/// A process of ours that is just ending may hold the port a moment longer, and other apps have this address
/// in their settings: so the wanted port gets a second chance before a neighbour does.
const PATIENCE: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(150),
    Duration::from_millis(350),
];

pub(crate) async fn loopback(wanted: u16) -> Result<(TcpListener, u16), WebError> {
    let mut last = None;
    for wait in PATIENCE {
        tokio::time::sleep(wait).await;
        match open(wanted).await {
            Ok(found) => return Ok(found),
            Err(error) => last = Some(error),
        }
    }
    // Port 0 lets the system choose; it has no neighbours.
    let neighbours = if wanted == 0 { 0 } else { PORTS_MAX };
    for port in (1..neighbours).filter_map(|step| wanted.checked_add(step)) {
        match open(port).await {
            Ok(found) => return Ok(found),
            Err(error) => last = Some(error),
        }
    }
    let source = last.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrInUse));
    Err(WebError::Bind {
        port: wanted,
        tried: neighbours.max(1),
        source,
    })
}

async fn open(port: u16) -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_taken_port_gives_the_next_one() {
        let (held, taken) = loopback(0).await.unwrap();
        let (_next, port) = loopback(taken).await.unwrap();
        assert!(port > taken && port < taken + PORTS_MAX, "{port} is near {taken}");
        drop(held);
        let (_again, port) = loopback(taken).await.unwrap();
        assert_eq!(port, taken, "free again, taken again");
    }

    #[tokio::test]
    async fn a_port_that_is_let_go_in_a_moment_is_waited_for() {
        let (held, taken) = loopback(0).await.unwrap();
        let (found, ()) = tokio::join!(loopback(taken), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(held);
        });
        assert_eq!(found.unwrap().1, taken);
    }
}
