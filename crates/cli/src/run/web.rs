use std::sync::Arc;

use plimsoll_web::{FRONT_PORT, KeptFront, Page};
use serde_json::json;

use super::Session;
use crate::args::WebArgs;
use crate::failure::Failure;
use crate::lang::params;
use crate::out::Form;

/// The page for a browser, and the front for other apps, until it is interrupted.
pub(super) async fn web(session: &Session, args: &WebArgs) -> Result<(), Failure> {
    session.app.take_up_transfers();
    session.app.watch_library();
    let page = Page::start(Arc::clone(&session.app), args.port).await?;
    let front = KeptFront::start(Arc::clone(&session.app), FRONT_PORT).await;
    let link = page.login_link();
    match session.out.form {
        Form::Json => session.out.json(&json!({ "url": link, "endpoint": front.url() })),
        Form::Person => {
            session
                .out
                .line(&session.out.say("web.open", &params! { url = link.clone() }));
            match front.url() {
                Some(url) => session
                    .out
                    .line(&session.out.say("web.endpoint", &params! { url = url.to_owned() })),
                None => session.out.note(session.out.lang.text("web.noEndpoint")),
            }
        }
    }
    if args.open
        && let Err(error) = open::that_detached(&link)
    {
        tracing::warn!(%error, "no browser");
        session.out.note(session.out.lang.text("web.noBrowser"));
    }
    session.interrupts().next().await;
    front.end().await;
    page.end().await;
    Err(Failure::Interrupted)
}
