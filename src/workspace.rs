//! The confined root: the only door to the files of the workspace.
