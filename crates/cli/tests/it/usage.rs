use crate::place::{Place, Ran};

#[test]
fn wrong_use_ends_with_2_and_says_what_is_right() {
    let place = Place::fresh();
    for typed in [
        &[][..],
        &["bench", "--no-such-option"],
        &["doctor"],
        &["replay"],
        &["plan"],
        &["plan", "x", "--kv", "q5_0"],
        &["plan", "x", "--context", "0"],
        &["plan", "x", "--context", "-1"],
        &["plan", "x", "--tensor-split", "1,nan"],
        &["plan", "x", "--no-such-option"],
        &["engine"],
        &["engine", "polish"],
        &["ask"],
        &["pull"],
        &["search"],
        &["folder"],
        &["web", "--port", "70000"],
    ] {
        let ran = place.run(typed);
        assert_eq!(ran.code, 2, "{typed:?}: {ran:?}");
        assert!(ran.out.is_empty(), "{typed:?}: {ran:?}");
        assert!(
            ran.err.contains("Usage:") || ran.err.contains("--help"),
            "{typed:?}: {}",
            ran.err
        );
    }
    assert!(!place.path("home").exists(), "wrong use leaves nothing behind");
}

#[test]
fn help_is_an_answer_in_the_persons_language() {
    let place = Place::fresh();
    let english = place.run(&["--help"]);
    assert_eq!(english.code, 0);
    for command in [
        "probe",
        "plan",
        "recommend",
        "models",
        "search",
        "pull",
        "import",
        "verify",
        "remove",
        "duplicates",
        "folder",
        "engine",
        "serve",
        "chat",
        "web",
        "ask",
        "bench",
        "replay",
        "context",
    ] {
        assert!(
            english.out.contains(&format!("  {command} ")),
            "{command}: {}",
            english.out
        );
    }
    for unknown in ["doctor", "help"] {
        assert!(!english.out.contains(&format!("  {unknown} ")), "{unknown}");
    }
    let mut german = place.command(&["plan", "--help"]);
    german.env("LANG", "de_DE.UTF-8");
    let german = Ran::of(german);
    assert_eq!(german.code, 0);
    assert!(german.out.contains("Größe des Kontexts"), "{}", german.out);
    assert!(place.run(&["--version"]).out.starts_with("plimsoll "));
}

#[test]
fn colours_stay_out_of_a_pipe() {
    let place = Place::fresh();
    let ran = place.run(&["plan", "missing.gguf"]);
    assert!(
        !ran.err.contains('\u{1b}') && !ran.out.contains('\u{1b}'),
        "{ran:?}"
    );
}
