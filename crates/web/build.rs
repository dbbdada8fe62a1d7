//! Lets a release build notice that the page was built after it.
//!
//! `rust-embed` tracks the files it embedded, but not a folder that was missing: cargo would then keep a
//! binary without a page. A debug build reads the folder while it runs and needs none of this.

#[expect(
    clippy::disallowed_methods,
    reason = "a build script gets its instructions from cargo this way"
)]
fn main() {
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    println!(
        "cargo:rerun-if-changed={}",
        if release { "../../ui/dist" } else { "build.rs" }
    );
}
