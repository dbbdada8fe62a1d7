//! Fake hub, fake provider, recorded machines, tiny models, strict watchers. Development only.
