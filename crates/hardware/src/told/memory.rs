//! RAM as Linux's tools print it, and what tells that Linux runs inside Windows.

use plimsoll_units::Bytes;

use super::scan::{after, any_amount, field, has_word, scaled, whole};
use super::{Text, Told, Trust};

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let free = Free::of(&text.lower_key);
    let lower_key = text.lower_key.clone();
    let mut columns: Vec<String> = Vec::new();
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        let trimmed = line.text.trim();
        let titles: Vec<&str> = trimmed.split_whitespace().collect();
        if titles.first() == Some(&"total") && titles.contains(&"free") {
            columns = titles.iter().map(|title| (*title).to_owned()).collect();
            line.taken = true;
        } else if let Some(rest) = trimmed
            .strip_prefix("Mem:")
            .filter(|_| !columns.is_empty() || lower_key.contains("free"))
        {
            line.taken = free.row(rest, &columns, told);
        } else {
            line.taken = meminfo(trimmed, told)
                || top(trimmed, told)
                || others(trimmed, told)
                || system(trimmed, &lower_key, told);
        }
    }
}

fn meminfo(line: &str, told: &mut Told) -> bool {
    let size = |label: &str| {
        let value = field(line, label)?;
        let (number, unit) = value.split_once(' ').unwrap_or((value, "kB"));
        whole(number)
            .filter(|_| unit.trim().eq_ignore_ascii_case("kb"))
            .map(Bytes::kib)
    };
    if let Some(total) = size("MemTotal") {
        told.say_ram(Some(total), None, Trust::Exact, "/proc/meminfo");
    } else if let Some(available) = size("MemAvailable") {
        told.say_ram(None, Some(available), Trust::Exact, "/proc/meminfo");
    } else {
        return [
            "MemFree:",
            "SwapTotal:",
            "SwapFree:",
            "Buffers:",
            "Cached:",
            "HugePages_Total:",
            "Hugepagesize:",
        ]
        .iter()
        .any(|label| line.starts_with(label));
    }
    true
}

/// `free` with its options: KiB without one.
struct Free {
    step: u64,
}

impl Free {
    fn of(key: &str) -> Self {
        let option = |names: &[&str]| {
            names
                .iter()
                .any(|name| key.split_whitespace().any(|word| word == *name))
        };
        let step = if option(&["-b", "--bytes"]) {
            1
        } else if option(&["-m", "--mebi", "--mega"]) {
            1 << 20
        } else if option(&["-g", "--gibi", "--giga"]) {
            1 << 30
        } else {
            1 << 10
        };
        Self { step }
    }

    fn row(&self, rest: &str, columns: &[String], told: &mut Told) -> bool {
        let cells: Vec<Option<Bytes>> = rest
            .split_whitespace()
            .map(|cell| any_amount(cell).or_else(|| whole(cell).and_then(|_| scaled(cell, self.step))))
            .collect();
        let Some(total) = cells
            .first()
            .copied()
            .flatten()
            .filter(|&total| total > Bytes::ZERO)
        else {
            return false;
        };
        let at = columns.iter().position(|column| column == "available");
        let available = at.and_then(|at| cells.get(at).copied().flatten());
        let trust = if self.step <= 1 << 10 && !rest.contains(['i', 'G']) {
            Trust::Exact
        } else {
            Trust::Rounded
        };
        told.say_ram(Some(total), available, trust, "free");
        true
    }
}

/// `MiB Mem :  11892.8 total,  11404.4 free, …` and `MiB Swap: … 11340.1 avail Mem`
fn top(line: &str, told: &mut Told) -> bool {
    let step = match line.split_whitespace().next() {
        Some("KiB") => 1 << 10,
        Some("MiB") => 1 << 20,
        Some("GiB") => 1 << 30,
        Some(_) | None => return false,
    };
    let before = |mark: &str| {
        let head = &line[..line.find(mark)?];
        scaled(head.split_whitespace().next_back()?, step)
    };
    if line.contains("Mem") && line.contains(" total") && !line.contains("Swap") {
        told.say_ram(before(" total"), None, Trust::Rounded, "top");
    } else if line.contains("avail Mem") {
        told.say_ram(None, before(" avail Mem"), Trust::Rounded, "top");
    } else {
        return false;
    }
    true
}

/// `lsmem`, `tegrastats`, `fastfetch`, `htop`, `docker info`.
fn others(line: &str, told: &mut Told) -> bool {
    if let Some(total) = field(line, "Total online memory").and_then(any_amount) {
        told.say_ram(Some(total), None, Trust::Installed, "lsmem");
    } else if let Some(total) = field(line, "Total Memory").and_then(any_amount) {
        told.say_ram(Some(total), None, Trust::Rounded, "docker info");
    } else if let Some(ratio) = line
        .strip_prefix("RAM ")
        .filter(|rest| rest.contains("(lfb ") || rest.contains("MB ("))
    {
        // `RAM 3256/62841MB (lfb 12000x4MB)`
        let total = ratio.split_once('/').and_then(|(_, rest)| any_amount(rest));
        told.say_ram(total, None, Trust::Rounded, "tegrastats");
    } else if let Some(ratio) = field(line, "Memory").filter(|value| value.contains(" / ")) {
        let total = ratio.split_once(" / ").and_then(|(_, rest)| any_amount(rest));
        told.say_ram(total, None, Trust::Rounded, "fastfetch");
    } else if line.starts_with("Mem[") {
        let total = line.rsplit_once('/').and_then(|(_, rest)| any_amount(rest));
        told.say_ram(total, None, Trust::Rounded, "htop");
    } else {
        return false;
    }
    true
}

/// The kernel's name, which tells Linux inside Windows, and the architecture.
fn system(line: &str, key: &str, told: &mut Told) -> bool {
    let lower = line.to_ascii_lowercase();
    if lower.contains("microsoft-standard") || lower.contains("-microsoft") || lower.contains("wslg") {
        told.wsl = true;
    }
    if let Some(rest) = after(line, "built with ") {
        arch(rest, told);
        return true;
    }
    if key.starts_with("uname") {
        arch(line, told);
        if key.contains("-r") {
            told.kernel.get_or_insert_with(|| line.to_owned());
        } else if let Some(release) = line.split_whitespace().nth(2).filter(|word| word.contains('.')) {
            told.kernel.get_or_insert_with(|| release.to_owned());
        }
        return true;
    }
    if let Some(name) = field(line, "PRETTY_NAME") {
        told.os_version.get_or_insert_with(|| name.to_owned());
        return true;
    }
    false
}

/// In the words of compilers, kernels and Windows.
pub(super) fn arch(text: &str, told: &mut Told) {
    let lower = text.to_ascii_lowercase();
    let known = [
        ("x86_64", "x86_64"),
        ("amd64", "x86_64"),
        ("x64", "x86_64"),
        ("aarch64", "aarch64"),
        ("arm64", "aarch64"),
        ("riscv64", "riscv64"),
        ("ppc64le", "powerpc64"),
        ("s390x", "s390x"),
        ("loongarch64", "loongarch64"),
    ];
    if let Some((_, arch)) = known.iter().find(|(word, _)| {
        has_word(&lower.replace('_', "x"), &word.replace('_', "x")) || lower.contains(&format!("{word}-"))
    }) {
        told.cpu.arch.get_or_insert_with(|| (*arch).to_owned());
    }
}
