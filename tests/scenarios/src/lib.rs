//! Whole-app scenarios against a real engine.
