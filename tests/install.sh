#!/usr/bin/env bash
# Installs what the tests need to skip less: bubblewrap, the second of the sandboxes, and small tools
# that are run inside; an X server without a screen and `xclip`, for the clipboard; strace, which
# kills the program at every system call that writes. Go and Maven are large: they are tried where
# they are there already.
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
[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c "import venv, ensurepip" 2> /dev/null || missing+=(python3-venv)
[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c "import pytest" 2> /dev/null || missing+=(python3-pytest)
if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
  apt-get update && apt-get install -y "${missing[@]}"
elif command -v sudo > /dev/null; then
  sudo apt-get update && sudo apt-get install -y "${missing[@]}"
fi
