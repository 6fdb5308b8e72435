//! The consequences of a failed step for the rest of its reply.

crate::words! {
    /// The fate of the commands of a reply after one of its file changes failed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum OnFailure {
        /// They are skipped: they would run on files that are not as the model thinks.
        SkipCommands = "skip-commands",
        /// They run all the same.
        Continue = "continue",
    }
}
