#!/usr/bin/env bash
# Installs what the tests of the page need: Chromium, and two packages beside this file that drive it and
# look for what shuts people out. Both are pinned; neither has dependencies.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
command -v chromium > /dev/null || missing+=(chromium)
command -v node > /dev/null || missing+=(nodejs npm)
if [ "${#missing[@]}" -gt 0 ] && command -v apt-get > /dev/null; then
  run=()
  [ "$(id -u)" -eq 0 ] || run=(sudo)
  "${run[@]}" apt-get update
  "${run[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
fi
if [ ! -d node_modules/playwright-core ] || [ ! -d node_modules/axe-core ]; then
  npm install --no-save --no-package-lock --no-audit --no-fund --silent playwright-core@1.65.0 axe-core@4.14.0
fi
