use std::fs;
use std::path::PathBuf;

use plimsoll_units::Bytes;

use super::Resident;

pub(super) fn start_time(pid: u32) -> Option<u64> {
    let stat = stat(pid)?;
    (!matches!(stat.state, 'Z' | 'X')).then_some(stat.start_time)
}

pub(super) fn executable(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

pub(super) fn arguments(pid: u32) -> Vec<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = words.strip_suffix(b"\0").unwrap_or(&words);
    if words.is_empty() {
        return Vec::new();
    }
    words
        .split(|&byte| byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

pub(super) fn resident(pid: u32) -> Option<Resident> {
    parse_status(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn parse_status(status: &str) -> Option<Resident> {
    let kib = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim()
            .strip_suffix("kB")?
            .trim()
            .parse()
            .ok()
            .map(Bytes::kib)
    };
    Some(Resident {
        resident: kib("VmRSS")?,
        anonymous: kib("RssAnon"),
        file: kib("RssFile"),
        shared: kib("RssShmem"),
    })
}

pub(super) fn all() -> Vec<u32> {
    let Ok(all) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

pub(super) fn children(pid: u32) -> Vec<u32> {
    children_by_thread(pid).unwrap_or_else(|| children_by_scan(pid))
}

/// Cheap, but only on kernels built with it, which most are.
fn children_by_thread(pid: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let listed = fs::read_to_string(task.ok()?.path().join("children")).ok()?;
        found.extend(
            listed
                .split_ascii_whitespace()
                .filter_map(|number| number.parse::<u32>().ok()),
        );
    }
    Some(found)
}

fn children_by_scan(pid: u32) -> Vec<u32> {
    all()
        .into_iter()
        .filter(|&other| stat(other).is_some_and(|stat| stat.parent == pid))
        .collect()
}

struct Stat {
    state: char,
    parent: u32,
    start_time: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in the second field may hold spaces and brackets, so fields are counted from the last bracket.
fn parse_stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3";
        let stat = parse_stat(text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.start_time), ('S', 7, 987_654));
    }

    #[test]
    fn kinds_of_memory_are_told_apart() {
        let status = "Name:\tx\nVmRSS:\t  300 kB\nRssAnon:\t 100 kB\nRssFile:\t 190 kB\nRssShmem:\t  10 kB\n";
        let memory = parse_status(status).unwrap();
        assert_eq!(memory.resident, Bytes::kib(300));
        assert_eq!(memory.file, Some(Bytes::kib(190)));
        assert_eq!(parse_status("Name:\tkernel thread\n"), None);
    }

    #[test]
    fn both_ways_find_the_same_children() {
        let us = std::process::id();
        let mut quick = children_by_thread(us).unwrap_or_else(|| children_by_scan(us));
        let mut slow = children_by_scan(us);
        quick.sort_unstable();
        slow.sort_unstable();
        assert_eq!(quick, slow);
    }
}
