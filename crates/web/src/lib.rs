//! The same calls over loopback HTTP, the page, and the front for other apps.
