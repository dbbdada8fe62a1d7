//! Limits that a container's tools set or print: `docker`, Kubernetes, systemd, LXC.

use plimsoll_units::Bytes;

use super::scan::{after, any_amount, field, whole};
use super::{Text, Told};

/// Less than this could not have started a program; above the other there is none.
const LIMIT_MIN: Bytes = Bytes::mib(4);
const NO_LIMIT: Bytes = Bytes(1 << 60);

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    // A recorder's own keys are read by the judgement.
    let group_file = !text.key.starts_with("/sys/fs/cgroup")
        && ["memory.max", "memory.limit_in_bytes", "memory.high"]
            .iter()
            .any(|file| text.lower_key.ends_with(file));
    let inspect = text.key_has("inspect");
    let stats = text.key_has("docker stats") || text.key_has("podman stats");
    let source = text.key.to_owned();
    let mut in_limits = false;
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        let trimmed = line.text.trim();
        in_limits |= trimmed.starts_with("limits:") || trimmed.starts_with("Limits:");
        in_limits &= !trimmed.starts_with("requests:") && !trimmed.starts_with("Requests:");
        let found = if group_file {
            whole(trimmed).map(Bytes)
        } else if let Some(limit) = option(trimmed) {
            Some(limit)
        } else if let Some(value) = [
            "MemoryMax",
            "MemoryHigh",
            "mem_limit",
            "lxc.cgroup2.memory.max",
            "lxc.cgroup.memory.limit_in_bytes",
        ]
        .iter()
        .find_map(|label| field(trimmed, label))
        {
            any_amount(value).or_else(|| whole(value).map(Bytes))
        } else if in_limits && let Some(value) = field(trimmed, "memory") {
            any_amount(value)
        } else if inspect && let Some(value) = field(trimmed, "Memory") {
            whole(value).map(Bytes)
        } else if stats && let Some((_, limit)) = trimmed.split_once(" / ") {
            any_amount(limit)
        } else if ["memory.max", "memory.limit_in_bytes"]
            .iter()
            .any(|file| trimmed.contains(file))
        {
            trimmed.rsplit([':', '=', ' ']).next().and_then(whole).map(Bytes)
        } else {
            None
        };
        if let Some(limit) = found {
            line.taken = true;
            if limit >= LIMIT_MIN && limit < NO_LIMIT {
                told.limits.push((limit, source.clone()));
            }
        } else if group_file && trimmed == "max" {
            line.taken = true;
        }
    }
}

/// `docker run -m 4g`, `--memory=4g`, `--memory 4g`
fn option(line: &str) -> Option<Bytes> {
    if !["docker", "podman", "nerdctl"]
        .iter()
        .any(|tool| line.contains(tool))
    {
        return None;
    }
    let value = [" -m ", " -m=", " --memory ", " --memory="]
        .iter()
        .find_map(|option| after(line, option))?;
    let value = value.split_whitespace().next()?;
    // A number alone counts bytes; `b` is a unit as well.
    any_amount(value).or_else(|| whole(value.trim_end_matches('b')).map(Bytes))
}
