#!/usr/bin/env bash
# Builds for other systems and tries what was built: static Linux (x86-64, arm64) and Windows, under Wine.
# macOS is type-checked. Takes an hour on two processors; .ci/run does not call it.
set -euo pipefail
cd "$(dirname "$0")/.."

dist/toolchain
tests/windows/install
# The programs; most tests are about Linux.
for target in x86_64-pc-windows-gnu aarch64-apple-darwin; do
  TARGET=$target tests/windows/cargo clippy --workspace -- -D warnings
done
tests/windows/run
dist/build
dist/test

# The integration tests against the static binary. Those of its own in-process parts were run by
# `cargo test`.
AGENT_PROGRAM=$PWD/target/x86_64-unknown-linux-musl/ship/agent cargo test --test integration
