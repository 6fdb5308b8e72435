#!/usr/bin/env bash
# Installs what the tests need to skip nothing: bubblewrap, the second of the sandboxes.
set -euo pipefail

if command -v bwrap > /dev/null || ! command -v apt-get > /dev/null; then
  exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
  apt-get update && apt-get install -y bubblewrap
elif command -v sudo > /dev/null; then
  sudo apt-get update && sudo apt-get install -y bubblewrap
fi
