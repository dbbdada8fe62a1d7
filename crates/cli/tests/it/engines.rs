use crate::place::{Place, text};

#[test]
fn a_machine_without_engines() {
    let place = Place::fresh();
    let list = place.run(&["engine", "list", "--json"]).reply();
    assert_eq!(list["engines"], serde_json::json!([]));
    assert_eq!(
        place.run(&["engine", "check", "--json"]).fault()["code"],
        "noEngine"
    );
    let shown = place.run(&["engine", "list"]);
    assert!(shown.shown().contains("plimsoll engine install"), "{}", shown.out);
}

#[test]
fn a_folder_without_an_engine() {
    let place = Place::fresh();
    let file = place.file("folder/readme.txt", "no engine here");
    let folder = file.parent().unwrap();
    assert_eq!(
        place.run(&["engine", "add", text(folder), "--json"]).fault()["code"],
        "engineIncomplete"
    );
    assert_eq!(
        place.run(&["engine", "use", "nobody", "--json"]).fault()["code"],
        "notFound"
    );
}
