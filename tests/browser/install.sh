#!/usr/bin/env bash
# Installs what the tests of the page need beside Chromium and Node, which `tests/install.sh` installs: two
# packages that drive the browser and look for what shuts people out. Both are pinned; neither has
# dependencies.
set -euo pipefail
cd "$(dirname "$0")"
../install.sh
wanted=(playwright-core@1.65.0 axe-core@4.14.0)
if [ "$(cat node_modules/.wanted 2> /dev/null)" != "${wanted[*]}" ]; then
  npm install --no-save --no-package-lock --no-audit --no-fund --silent "${wanted[@]}"
  echo "${wanted[*]}" > node_modules/.wanted
fi
