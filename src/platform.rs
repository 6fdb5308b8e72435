//! What differs between operating systems, in one place.
