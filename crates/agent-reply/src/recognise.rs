//! Recognisers of what is not a dialect of its own: our tags in all their forms, files that are only
//! shown, commands that are only talked about, and results that the model made up.
//!
//! Each is a function from the walk's view of the lines to an offer. None changes anything.

pub(super) mod angled;
pub(super) mod crowded;
pub(super) mod invention;
pub(super) mod other;
pub(super) mod quotation;
pub(super) mod shown;
pub(super) mod stray;
pub(super) mod tagged;
