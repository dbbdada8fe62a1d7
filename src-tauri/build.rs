//! Names the two commands, so that a capability can let only the main window in.

fn main() {
    // The page is embedded from here. On a fresh clone it is not built yet, and a missing folder would stop even
    // `cargo clippy`; an empty one shows an empty window, which the window test would see.
    if let Err(problem) = std::fs::create_dir_all("../ui/dist") {
        println!("cargo::warning=cannot create ui/dist: {problem}");
    }
    let commands = tauri_build::AppManifest::new().commands(&["call", "listen"]);
    if let Err(problem) = tauri_build::try_build(tauri_build::Attributes::new().app_manifest(commands)) {
        println!("cargo::error={problem:#}");
    }
}
