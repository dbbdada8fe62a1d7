//! What processes hold of a GPU, by the kernel's own accounting: for every open file of a graphics driver it
//! lists what was allocated through it.
//!
//! The keys are those of `Documentation/gpu/drm-usage-stats.rst` of Linux: `drm-resident-<region>` is what lies in
//! a region now, `drm-memory-<region>` its older name. Drivers name the regions: `vram` (amdgpu), `vram0` (xe) and
//! `local0` (i915) are the device's own memory, `gtt`, `system` and `system0` are RAM.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_os::files;
use plimsoll_units::Bytes;

use crate::judge::size;

const FILE_MAX: Bytes = Bytes::kib(16);
const OPEN_FILES_MAX: usize = 4096;
const PROCESSES_MAX: usize = 4096;

/// Which memory is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    Own,
    /// With the RAM that the device borrows.
    OwnAndBorrowed,
}

/// Bytes of the device at `address` that the process holds. A file that was duplicated is listed twice under one
/// client number.
pub(super) fn held_by(root: &Path, pid: u32, address: &str, region: Region) -> Bytes {
    let folder: PathBuf = root.join("proc").join(pid.to_string()).join("fdinfo");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Bytes::ZERO;
    };
    let mut clients: Vec<String> = Vec::new();
    let mut held = Bytes::ZERO;
    for entry in entries.flatten().take(OPEN_FILES_MAX) {
        let Some(text) = text(&entry.path()) else { continue };
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(str::trim)
        };
        if field("drm-pdev") != Some(address) {
            continue;
        }
        let client = field("drm-client-id").unwrap_or_default().to_owned();
        if clients.contains(&client) {
            continue;
        }
        clients.push(client);
        held = held.plus(in_regions(&text, region));
    }
    held
}

fn in_regions(text: &str, wanted: Region) -> Bytes {
    // Newer kernels list a region under both names.
    let mut by_region: BTreeMap<&str, Bytes> = BTreeMap::new();
    for name in ["drm-memory-", "drm-resident-"] {
        for line in text.lines() {
            let Some((region, value)) = line.strip_prefix(name).and_then(|rest| rest.split_once(':')) else {
                continue;
            };
            if let Some(bytes) = size(value, name, &mut Vec::new()) {
                by_region.insert(region, bytes);
            }
        }
    }
    by_region
        .into_iter()
        .filter(|(region, _)| {
            let own = region.starts_with("vram") || region.starts_with("local");
            let borrowed = region.starts_with("gtt") || region.starts_with("system");
            own || (borrowed && wanted == Region::OwnAndBorrowed)
        })
        .map(|(_, bytes)| bytes)
        .sum()
}

/// Everybody's processes, as far as we may see them.
pub(super) fn processes(root: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(root.join("proc")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .take(PROCESSES_MAX)
        .collect()
}

pub(super) fn text(path: &Path) -> Option<String> {
    String::from_utf8(files::read_up_to(path, FILE_MAX).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_of_every_driver_are_known() {
        for (text, own, all) in [
            (
                "drm-memory-vram:\t1024 KiB\ndrm-memory-gtt:\t512 KiB\n",
                1024,
                1536,
            ),
            (
                "drm-memory-vram:\t9 KiB\ndrm-resident-vram:\t1024 KiB\ndrm-total-vram:\t4096 KiB\n",
                1024,
                1024,
            ),
            (
                "drm-resident-local0: 2 MiB\ndrm-resident-system0: 1 MiB\n",
                2048,
                3072,
            ),
            (
                "drm-resident-vram0:\t3 MiB\ndrm-resident-system:\t0\ndrm-resident-gtt:\t1 MiB\n",
                3072,
                4096,
            ),
            ("drm-engine-gfx:\t12 ns\ndrm-resident-vram: lots\n", 0, 0),
        ] {
            assert_eq!(in_regions(text, Region::Own), Bytes::kib(own), "{text}");
            assert_eq!(
                in_regions(text, Region::OwnAndBorrowed),
                Bytes::kib(all),
                "{text}"
            );
        }
    }
}
