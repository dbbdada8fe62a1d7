use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use rand::RngExt as _;

/// Below the range that systems hand out for outgoing connections: a port in there may be unusable although
/// nobody listens. Above our own two fronts and what others of this trade use by default.
const PORTS: Range<u16> = 20_000..32_768;
const LOOKED_AT_MAX: u32 = 64;

/// A port on loopback that is free now. Someone may take it before the router does: the caller tries again.
#[must_use]
pub(super) fn free_port() -> Option<u16> {
    let mut random = rand::rng();
    (0..LOOKED_AT_MAX)
        .map(|_| random.random_range(PORTS))
        .find(|port| is_free(*port))
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_lie_below_the_ephemeral_range_and_are_free() {
        for _ in 0..50 {
            let port = free_port().unwrap();
            assert!(PORTS.contains(&port));
        }
    }

    #[test]
    fn a_taken_port_is_seen() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(taken.local_addr().unwrap().port()));
    }
}
