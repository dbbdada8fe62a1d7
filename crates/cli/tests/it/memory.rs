//! How long models stay, from the terminal.

use crate::place::Place;

#[test]
fn the_time_of_idle_models_is_shown_and_set() {
    let place = Place::fresh();
    let shown = place.run(&["memory"]);
    assert!(shown.shown().contains("30"), "{}", shown.out);
    let set = place
        .run(&[
            "memory",
            "--idle-minutes",
            "7",
            "--release-on-sleep",
            "yes",
            "--json",
        ])
        .reply();
    assert_eq!(
        (&set["idleMinutes"], &set["releaseOnSleep"]),
        (&7.into(), &true.into())
    );
    assert!(place.run(&["memory"]).shown().contains('7'), "kept");
    let never = place.run(&["memory", "--idle-minutes", "0", "--json"]).reply();
    assert_eq!(
        (&never["idleMinutes"], &never["releaseOnSleep"]),
        (&0.into(), &true.into())
    );
}
