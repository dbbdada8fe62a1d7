use tauri::webview::NewWindowResponse;
use tauri::{AppHandle, Manager as _, Runtime, Url, WebviewWindowBuilder};

/// Opens the one window. It shows our page and nothing else: a link that leads out opens in the person's
/// browser, where it belongs.
pub fn open<R: Runtime>(app: &AppHandle<R>) -> tauri::Result<()> {
    for config in &app.config().app.windows {
        WebviewWindowBuilder::from_config(app, config)?
            .on_navigation(|to| {
                let ours = is_ours(to);
                if !ours {
                    show_outside(to);
                }
                ours
            })
            .on_new_window(|to, _| {
                show_outside(&to);
                NewWindowResponse::Deny
            })
            .build()?
            .set_focus()?;
    }
    debug_assert!(
        app.get_webview_window("main").is_some(),
        "the configuration names the main window"
    );
    Ok(())
}

/// The page's own address: `tauri://localhost`, or `http://tauri.localhost` where schemes of one's own are not
/// to be had.
fn is_ours(to: &Url) -> bool {
    matches!(
        (to.scheme(), to.host_str()),
        ("tauri", Some("localhost")) | ("http" | "https", Some("tauri.localhost"))
    )
}

/// Only web addresses: what a model wrote must not open a file or start a program.
fn may_go_outside(to: &Url) -> bool {
    matches!(to.scheme(), "http" | "https") && to.host_str().is_some_and(|host| host != "tauri.localhost")
}

fn show_outside(to: &Url) {
    if !may_go_outside(to) {
        tracing::warn!(
            scheme = to.scheme(),
            "a link that is no web address was not opened"
        );
        return;
    }
    if let Err(problem) = open::that_detached(to.as_str()) {
        tracing::warn!(%problem, "no browser took the link");
    }
}

#[cfg(test)]
mod tests {
    use tauri::Url;

    use super::{is_ours, may_go_outside};

    #[test]
    fn the_window_shows_our_page_and_the_browser_the_web() {
        for (address, ours, outside) in [
            ("tauri://localhost/models", true, false),
            ("http://tauri.localhost/", true, false),
            ("https://huggingface.co/google/gemma-3-270m", false, true),
            ("http://tauri.localhost.example.org/", false, true),
            ("file:///etc/passwd", false, false),
            ("javascript:alert(1)", false, false),
            ("steam://run/1", false, false),
        ] {
            let url = Url::parse(address).unwrap();
            assert_eq!(
                (is_ours(&url), may_go_outside(&url)),
                (ours, outside),
                "{address}"
            );
        }
    }
}
