#!/usr/bin/env bash
# Installs what the tests need to skip less: bubblewrap, the second of the sandboxes, and small tools
# that are run inside; an X server without a screen and `xclip`, for the clipboard; strace, which
# kills the program at every system call that writes; Chromium and Node, for the page. Go and Maven are
# large: they are tried where they are there already.
set -euo pipefail

if ! command -v apt-get > /dev/null; then
  exit 0
fi
missing=()
command -v bwrap > /dev/null || missing+=(bubblewrap)
command -v strace > /dev/null || missing+=(strace)
command -v make > /dev/null || missing+=(make)
command -v Xvfb > /dev/null || missing+=(xvfb)
command -v xclip > /dev/null || missing+=(xclip)
command -v chromium > /dev/null || missing+=(chromium)
command -v node > /dev/null || missing+=(nodejs)
command -v npm > /dev/null || missing+=(npm)
[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c "import venv, ensurepip" 2> /dev/null || missing+=(python3-venv)
[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c "import pytest" 2> /dev/null || missing+=(python3-pytest)
if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi
run=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || exit 0
  run=(sudo)
fi
"${run[@]}" apt-get update
"${run[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
