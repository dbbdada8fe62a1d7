//! The machine that the test runs on.

use plimsoll_hardware::facts::{Drivers, Private, record};
use plimsoll_hardware::{Facts, judge};
use plimsoll_os::Environment;
use plimsoll_units::Bytes;

#[test]
fn this_machine_is_judged_the_same_from_its_own_record() {
    let facts = record(&Environment::default(), &Drivers::Thread);
    let json = serde_json::to_vec(&facts).unwrap();
    let read = Facts::from_json(&json).unwrap();
    assert_eq!(read, facts);
    let machine = judge(&read);
    assert_eq!(machine, judge(&facts));
    assert!(machine.memory.total > Bytes::mib(256), "{machine:?}");
    assert!(machine.memory.available <= machine.memory.total);
    assert!(
        machine.cpu.logical_cores > 0 && !machine.os.name.is_empty(),
        "{machine:?}"
    );
}

/// A record goes into reports: who it is from must not be in it.
#[test]
fn a_record_names_nobody() {
    let facts = record(&Environment::read(), &Drivers::Thread);
    let json = serde_json::to_string(&facts).unwrap();
    for private in ["/proc/sys/kernel/hostname", "/etc/machine-id", "/etc/hostname"] {
        if let Ok(value) = std::fs::read_to_string(private)
            && value.trim().len() > 4
        {
            assert!(!json.contains(value.trim()), "{private} is in the record");
        }
    }
}

/// What a report leaves out decides nothing.
#[test]
fn a_record_for_a_report_is_judged_the_same() {
    let private = Private::of(&Environment::from_pairs([
        ("USER", "somebody"),
        ("HOME", "/home/somebody"),
    ]));
    for (name, facts) in crate::recordings::all() {
        let (full, reported) = (judge(&facts), judge(&facts.without_personal_details(&private)));
        assert_eq!(full.devices, reported.devices, "{name}");
        assert_eq!(full.memory, reported.memory, "{name}");
        assert_eq!(
            (full.cpu, full.class, full.os),
            (reported.cpu, reported.class, reported.os),
            "{name}"
        );
        assert_eq!(full.notes.len(), reported.notes.len(), "{name}");
    }
}

/// A real control group with a limit, on a system with version 1 groups and as root. Others have the recorded
/// ones.
#[cfg(target_os = "linux")]
#[test]
fn a_real_group_with_a_limit_is_seen() {
    let group = std::path::Path::new("/sys/fs/cgroup/memory/plimsoll-test");
    if std::fs::create_dir_all(group).is_err() || !group.join("memory.limit_in_bytes").exists() {
        println!("no group can be made here: only recorded groups were tried");
        return;
    }
    let limit = Bytes::gib(3);
    let script = "echo $$ > \"$1/cgroup.procs\" && exec \"$2\" here::what_the_group_sees --exact --nocapture";
    set(&group.join("memory.limit_in_bytes"), &limit.0.to_string());
    let command = plimsoll_os::child::Command::new("/bin/sh")
        .args(["-c", script, "sh"])
        .arg(group)
        .arg(std::env::current_exe().unwrap());
    let output =
        plimsoll_os::child::run_to_end_blocking(command, std::time::Duration::from_secs(30), Bytes::kib(64));
    let _ = std::fs::remove_dir(group);
    let seen = output.unwrap().out_text();
    assert!(
        seen.contains(&format!(
            "RAM {} by /sys/fs/cgroup/memory/plimsoll-test/",
            limit.0
        )),
        "{seen}"
    );
}

/// Says what the test above looks for; on its own it only runs.
#[test]
fn what_the_group_sees() {
    let memory = judge(&record(&Environment::default(), &Drivers::Thread)).memory;
    println!("RAM {} by {}", memory.total.0, memory.source);
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "a file of the kernel, which cannot be replaced"
)]
fn set(path: &std::path::Path, value: &str) {
    std::fs::write(path, value).unwrap();
}
