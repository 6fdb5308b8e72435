#!/usr/bin/env bash
# Builds for other systems and tries what was built: static Linux (x86-64, arm64) and Windows. macOS is
# type-checked. Takes half an hour on two processors; .ci/run does not call it.
set -euo pipefail
cd "$(dirname "$0")/.."

dist/toolchain
dist/build
dist/test

# The integration tests against the static binary. Those of its own in-process parts were run by
# `cargo test`.
AGENT_PROGRAM=$PWD/target/x86_64-unknown-linux-musl/release/agent cargo test --test integration

RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 PATH=$PWD/target/dist-tools/bin:$PATH \
  /usr/bin/cargo check -Zbuild-std=std,panic_unwind --target aarch64-apple-darwin
