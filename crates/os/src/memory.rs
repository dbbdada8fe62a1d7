//! How much of the host's memory is left, cheap enough to be asked every few seconds.

use plimsoll_units::Bytes;

/// What is available and what there is. What the system can take back at once counts as available. `None` where the
/// system does not say it.
#[must_use]
pub fn host() -> Option<(Bytes, Bytes)> {
    #[cfg(target_os = "linux")]
    {
        parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let mut asked = sysinfo::System::new();
        asked.refresh_memory_specifics(sysinfo::MemoryRefreshKind::nothing().with_ram());
        let (available, total) = (asked.available_memory(), asked.total_memory());
        (available > 0 && total > 0).then_some((Bytes(available), Bytes(total)))
    }
}

/// The lines are `MemTotal:  16384256 kB`, where kB means 1,024 bytes.
#[cfg(target_os = "linux")]
fn parse(text: &str) -> Option<(Bytes, Bytes)> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024).map(Bytes)
    };
    Some((of("MemAvailable:")?, of("MemTotal:")?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_machine_has_memory() {
        let (available, total) = super::host().unwrap();
        assert!(available.0 > 0 && available <= total, "{available} of {total}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_list_of_memory_says_nothing() {
        use plimsoll_units::Bytes;

        let text = "MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable:    1024 kB\n";
        assert_eq!(super::parse(text), Some((Bytes(1 << 20), Bytes(2 << 20))));
        for text in [
            "",
            "MemTotal: 1 kB",
            "MemTotal: 1 kB\nMemAvailable: x kB",
            "MemTotal: 99999999999999999999 kB",
        ] {
            assert_eq!(super::parse(text), None, "{text}");
        }
    }
}
