//! How a child process is confined and limited.
