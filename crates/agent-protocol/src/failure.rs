//! What follows when a step of a reply fails.

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
