//! What a step may do: allow, ask or deny; the strictest rule wins.
