//! The mailbox: `outbox/` and `inbox/`.
