use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;

use crate::guard;
use crate::secret::Secret;

/// Links that were printed and not yet followed.
const LINKS_MAX: usize = 8;
/// Browsers that are signed in.
const SESSIONS_MAX: usize = 32;

/// Who followed one of our links. A link works once: in a browser's history it is worth nothing.
///
/// A lock and no owner task: every request asks, each ask takes microseconds and waits for nothing.
pub(crate) struct Sessions {
    cookie: String,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    links: VecDeque<Secret>,
    sessions: VecDeque<Secret>,
}

impl Sessions {
    /// Cookies do not tell ports apart, so the name does: two of our hosts do not sign each other out.
    pub(crate) fn for_port(port: u16) -> Self {
        Self {
            cookie: format!("plimsoll-{port}"),
            known: Mutex::default(),
        }
    }

    pub(crate) fn fresh_link(&self) -> String {
        let link = Secret::fresh();
        let shown = link.shown().to_owned();
        self.with(|known| push(&mut known.links, link, LINKS_MAX));
        shown
    }

    /// Takes the link and gives the cookie of a new session; `None` for a link that is used or unknown.
    pub(crate) fn redeem(&self, token: &str) -> Option<String> {
        self.with(|known| {
            let place = known.links.iter().position(|link| link.is(token))?;
            known.links.remove(place)?;
            let session = Secret::fresh();
            let cookie = format!(
                "{}={}; Path=/; HttpOnly; SameSite=Strict",
                self.cookie,
                session.shown()
            );
            push(&mut known.sessions, session, SESSIONS_MAX);
            Some(cookie)
        })
    }

    pub(crate) fn knows(&self, headers: &HeaderMap) -> bool {
        guard::cookie(headers, &self.cookie)
            .is_some_and(|shown| self.with(|known| known.sessions.iter().any(|session| session.is(shown))))
    }

    fn with<T>(&self, body: impl FnOnce(&mut Known) -> T) -> T {
        // A panic elsewhere cannot leave the two lists half changed in a way that lets anyone in.
        body(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn push(into: &mut VecDeque<Secret>, secret: Secret, most: usize) {
    if into.len() == most {
        into.pop_front();
    }
    into.push_back(secret);
}

#[cfg(test)]
mod tests {
    use http::header;

    use super::*;

    fn with_cookie(set_cookie: &str) -> HeaderMap {
        let pair = set_cookie.split(';').next().unwrap();
        HeaderMap::from_iter([(header::COOKIE, pair.parse().unwrap())])
    }

    #[test]
    fn a_link_works_once() {
        let sessions = Sessions::for_port(1);
        let link = sessions.fresh_link();
        assert_eq!(sessions.redeem("wrong"), None);
        assert_eq!(sessions.redeem(""), None);
        let cookie = sessions.redeem(&link).unwrap();
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
            "{cookie}"
        );
        assert_eq!(sessions.redeem(&link), None, "a second time");
        assert!(sessions.knows(&with_cookie(&cookie)));
        assert!(!sessions.knows(&HeaderMap::new()));
        assert!(
            !sessions.knows(&with_cookie(&format!("plimsoll-1={link}"))),
            "a link is no session"
        );
    }

    #[test]
    fn only_so_many_links_and_sessions_are_kept() {
        let sessions = Sessions::for_port(1);
        let oldest = sessions.fresh_link();
        for _ in 0..LINKS_MAX {
            sessions.fresh_link();
        }
        assert_eq!(sessions.redeem(&oldest), None, "pushed out");
        let first = sessions.redeem(&sessions.fresh_link()).unwrap();
        for _ in 0..SESSIONS_MAX {
            sessions.redeem(&sessions.fresh_link()).unwrap();
        }
        assert!(!sessions.knows(&with_cookie(&first)), "pushed out");
    }
}
