use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use plimsoll_os::files::{self, AppendLog, FileError, Lock, PartFile, Placed, Run};
use plimsoll_units::Bytes;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn text(path: &Path) -> String {
    String::from_utf8(files::read_up_to(path, Bytes::mib(1)).unwrap()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_reader_never_sees_half_a_replacement() {
    let folder = folder();
    let path = folder.path().join("state.json");
    let (short, long) = (vec![b'a'; 3], vec![b'b'; 300_000]);
    files::replace(&path, &short).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..60 {
                files::replace(&path, if turn % 2 == 0 { &long } else { &short }).unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        while !done.load(Ordering::SeqCst) {
            let seen = files::read_up_to(&path, Bytes::mib(1)).unwrap();
            assert!(seen == short || seen == long, "{} bytes of a mix", seen.len());
        }
    });
    assert_eq!(names(folder.path()), ["state.json"], "nothing is left beside it");
}

#[test]
fn a_failed_replacement_leaves_the_old_content_and_nothing_beside_it() {
    let folder = folder();
    // A folder with something in it cannot be replaced by a file.
    let path = folder.path().join("busy");
    files::create_dir(&path.join("inner")).unwrap();
    assert!(files::replace(&path, b"new").is_err());
    assert_eq!(names(folder.path()), ["busy"]);
    assert_eq!(names(&path), ["inner"]);
}

#[cfg(unix)]
#[test]
fn private_means_this_person_only() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = folder();
    let (file, inner) = (folder.path().join("key"), folder.path().join("run"));
    files::replace(&file, b"public").unwrap();
    files::replace_private(&file, b"secret").unwrap();
    files::create_private_dir(&inner).unwrap();
    assert_eq!((mode(&file), mode(&inner)), (0o600, 0o700));
}

#[cfg(unix)]
#[test]
fn whether_a_file_may_be_used_is_told_without_opening_it() {
    use plimsoll_os::files::{Access, access};
    let folder = folder();
    assert_eq!(access(&folder.path().join("no")), Access::Missing);
    assert_eq!(access(Path::new("/dev/null")), Access::Yes);
}

#[test]
fn reading_stops_at_the_limit() {
    let folder = folder();
    let path = folder.path().join("x");
    files::replace(&path, b"12345").unwrap();
    assert_eq!(files::read_up_to(&path, Bytes(5)).unwrap(), b"12345");
    assert!(matches!(
        files::read_up_to(&path, Bytes(4)),
        Err(FileError::TooLarge { limit: Bytes(4), .. })
    ));
    assert!(
        files::read_up_to(&folder.path().join("no"), Bytes(4))
            .unwrap_err()
            .is_missing()
    );
    #[cfg(target_os = "linux")]
    assert!(
        matches!(
            files::read_up_to(Path::new("/dev/zero"), Bytes::mib(1)),
            Err(FileError::TooLarge { .. })
        ),
        "a file that claims no length is limited as well"
    );
}

#[test]
fn a_part_file_is_filled_in_any_order_and_published_whole() {
    let folder = folder();
    let (path, last) = (folder.path().join("x.part"), folder.path().join("x.gguf"));
    let part = PartFile::open(&path).unwrap();
    part.preallocate(Bytes(9)).unwrap();
    thread::scope(|scope| {
        for (offset, piece) in [(6, b"ghi"), (0, b"abc"), (3, b"def")] {
            let part = &part;
            scope.spawn(move || part.write_at(Bytes(offset), piece).unwrap());
        }
    });
    drop(part);
    let again = PartFile::open(&path).unwrap();
    let mut buffer = [0; 20];
    assert_eq!(
        again.read_at(Bytes(2), &mut buffer).unwrap(),
        7,
        "what an earlier run wrote is there"
    );
    assert_eq!(&buffer[..7], b"cdefghi");
    again.sync_data().unwrap();
    files::publish(&path, &last).unwrap();
    assert_eq!(text(&last), "abcdefghi");
    assert_eq!(names(folder.path()), ["x.gguf"]);
}

#[test]
fn linking_replaces_and_follows_links() {
    let folder = folder();
    let (real, named, to) = (
        folder.path().join("blob"),
        folder.path().join("name"),
        folder.path().join("to"),
    );
    files::replace(&real, b"weights").unwrap();
    files::symlink(Path::new("blob"), &named).unwrap();
    files::replace(&to, b"old").unwrap();
    assert_eq!(files::link_or_copy(&named, &to).unwrap(), Placed::Linked);
    assert_eq!(text(&to), "weights");
    assert!(!to.is_symlink(), "the file itself, not the link to it");
    assert_eq!(names(folder.path()), ["blob", "name", "to"]);
}

#[cfg(target_os = "linux")]
#[test]
fn another_volume_gets_a_copy() {
    let (folder, other) = (folder(), tempfile::tempdir_in("/dev/shm").unwrap());
    let (from, to) = (folder.path().join("a"), other.path().join("a"));
    files::replace(&from, b"weights").unwrap();
    let placed = files::link_or_copy(&from, &to).unwrap();
    assert_eq!(text(&to), "weights");
    let same = std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(&from).unwrap())
        == std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(&to).unwrap());
    assert_eq!(placed, if same { Placed::Linked } else { Placed::Copied });
    assert_eq!(names(other.path()), ["a"]);
}

#[test]
fn removing_twice_is_no_error_and_links_are_not_followed() {
    let folder = folder();
    let (tree, outside) = (folder.path().join("tree"), folder.path().join("outside"));
    files::create_dir(&tree.join("a/b")).unwrap();
    files::create_dir(&outside).unwrap();
    files::replace(&outside.join("kept"), b"x").unwrap();
    files::symlink(&outside, &tree.join("link")).unwrap();
    for _ in 0..2 {
        files::remove_tree(&tree).unwrap();
        files::remove_file(&tree.join("no")).unwrap();
    }
    assert_eq!(names(&outside), ["kept"]);
}

#[test]
fn what_an_archive_holds_is_new_limited_and_published_as_a_whole_folder() {
    let folder = folder();
    let (part, done) = (folder.path().join("part"), folder.path().join("done"));
    files::create_dir(&part).unwrap();
    let tool = part.join("tool");
    let written = files::write_new(&tool, &mut &b"run me"[..], Bytes(6), Run::Yes).unwrap();
    assert_eq!(written, Bytes(6));
    assert!(files::write_new(&tool, &mut &b"again"[..], Bytes(6), Run::No).is_err());
    let large = files::write_new(&part.join("large"), &mut &b"too much"[..], Bytes(6), Run::No);
    assert!(matches!(large, Err(FileError::TooLarge { .. })), "{large:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&tool).unwrap().permissions().mode() & 0o111,
            0o111
        );
    }
    files::publish_folder(&part, &done).unwrap();
    assert_eq!(text(&done.join("tool")), "run me");
    files::create_dir(&part).unwrap();
    assert!(
        files::publish_folder(&part, &done).is_err(),
        "what is there is not replaced"
    );
}

#[test]
fn a_lock_has_one_holder() {
    let folder = folder();
    let path = folder.path().join("router.lock");
    let first = Lock::try_exclusive(&path).unwrap();
    assert!(first.is_some());
    assert!(Lock::try_exclusive(&path).unwrap().is_none());
    drop(first);
    assert!(Lock::try_exclusive(&path).unwrap().is_some());
}

#[test]
fn a_log_turns_over_and_never_grows_past_its_limit() {
    let folder = folder();
    let path = folder.path().join("engine.log");
    let limit = Bytes(100);
    let mut log = AppendLog::open(&path, limit).unwrap();
    for n in 0..40 {
        log.line(format!("line {n:02}").as_bytes()).unwrap();
    }
    drop(log);
    let mut log = AppendLog::open(&path, limit).unwrap();
    log.line(b"after a restart").unwrap();
    assert_eq!(names(folder.path()), ["engine.log", "engine.log.1"]);
    assert!(text(&path).len() <= 100 && text(&folder.path().join("engine.log.1")).len() <= 100);
    assert!(
        text(&path).ends_with("line 39\nafter a restart\n"),
        "{}",
        text(&path)
    );
    log.line(&[b'x'; 500]).unwrap();
    assert_eq!(
        text(&path).len(),
        501,
        "a line longer than the log is kept whole, alone"
    );
}

#[test]
fn free_space_is_measured_before_the_folder_exists() {
    let folder = folder();
    let free = files::free_space(&folder.path().join("not/there/yet")).unwrap();
    assert!(free > Bytes::ZERO);
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_always_full_is_recognised() {
    let full = PartFile::open(Path::new("/dev/full")).unwrap();
    assert!(full.write_at(Bytes::ZERO, b"x").unwrap_err().is_disk_full());
    let mut log = AppendLog::open(Path::new("/dev/full"), Bytes::kib(1)).unwrap();
    assert!(log.line(b"x").unwrap_err().is_disk_full());
}

/// A real full disk: a small tmpfs, which only root can make. For others the test above has to do.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_nothing_is_left_half_done() {
    if !rustix::process::geteuid().is_root() {
        println!("not root: no tmpfs, only /dev/full was tried");
        return;
    }
    let folder = folder();
    let _mounted = Tmpfs::mount(folder.path());
    let (path, part) = (folder.path().join("kept"), folder.path().join("x.part"));
    files::replace(&path, b"old").unwrap();
    let error = files::replace(&path, &vec![1; 2 << 20]).unwrap_err();
    assert!(error.is_disk_full(), "{error:?}");
    assert_eq!(text(&path), "old");
    assert_eq!(names(folder.path()), ["kept"]);
    let part = PartFile::open(&part).unwrap();
    assert!(
        part.preallocate(Bytes::mib(2)).unwrap_err().is_disk_full(),
        "met before the first byte"
    );
    let error = part.write_at(Bytes::ZERO, &vec![1; 2 << 20]).unwrap_err();
    assert!(error.is_disk_full(), "{error:?}");
    let from = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut from.as_file(), &vec![1; 2 << 20]).unwrap();
    let to = folder.path().join("copy");
    assert!(files::link_or_copy(from.path(), &to).unwrap_err().is_disk_full());
    assert!(!to.exists());
}

#[cfg(target_os = "linux")]
struct Tmpfs(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Tmpfs {
    fn mount(at: &Path) -> Self {
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("tmpfs", at, "tmpfs", flags, c"size=1m").expect("root may mount a tmpfs");
        Self(at.to_owned())
    }
}

#[cfg(target_os = "linux")]
impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}
