//! The settings and where they come from.
