//! Keeps engines, supervises the router, talks to it.
