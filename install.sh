#!/bin/sh
# Installs `agent` for you alone: no root, nothing outside of the directory that you name.
#
#   sh install.sh agent-0.1.0-x86_64-unknown-linux-musl.tar.gz     a file that you have
#   sh install.sh https://.../agent-0.1.0-....tar.gz               an address
#   sh install.sh                                                  the newest release
#
# The checksum is taken from SHA256SUMS beside the archive; AGENT_SHA256 replaces it.
# AGENT_BIN is where the program goes (~/.local/bin).
set -eu

# Where releases can be had and which is the newest; dist/build writes both in, from
# dist/release-address, which is empty until there is one.
RELEASES=""
VERSION=""

say() { printf '%s\n' "$*" >&2; }
die() { say "install.sh: $*"; exit 1; }

sum() {
  if command -v sha256sum > /dev/null; then sha256sum "$1"
  elif command -v shasum > /dev/null; then shasum -a 256 "$1"
  else die "neither sha256sum nor shasum is there to check the download"
  fi | cut -d ' ' -f 1
}

fetch() {
  if command -v curl > /dev/null; then curl -fsSL --proto '=https' -o "$2" "$1"
  elif command -v wget > /dev/null; then wget -q -O "$2" "$1"
  else die "neither curl nor wget is there"
  fi
}

target() {
  case $(uname -s) in
    Linux) system=unknown-linux-musl ;;
    Darwin) system=apple-darwin ;;
    *) die "there is no archive for $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) echo "x86_64-$system" ;;
    aarch64 | arm64) echo "aarch64-$system" ;;
    *) die "there is no archive for $(uname -m)" ;;
  esac
}

main() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  source=${1:-}
  if [ -z "$source" ]; then
    [ -n "$RELEASES" ] || die "nothing has been published yet: name an archive made by dist/build"
    source=$RELEASES/agent-$VERSION-$(target).tar.gz
  fi
  name=$(basename "$source")
  case $source in
    https://*)
      fetch "$source" "$work/$name"
      fetch "$(dirname "$source")/SHA256SUMS" "$work/SHA256SUMS" ;;
    *://*) die "only https addresses are taken" ;;
    *)
      [ -f "$source" ] || die "there is no file $source"
      cp "$source" "$work/$name"
      [ ! -f "$(dirname "$source")/SHA256SUMS" ] || cp "$(dirname "$source")/SHA256SUMS" "$work/" ;;
  esac
  wanted=${AGENT_SHA256:-}
  if [ -z "$wanted" ] && [ -f "$work/SHA256SUMS" ]; then
    wanted=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$work/SHA256SUMS")
  fi
  [ -n "$wanted" ] || die "no checksum for $name: keep SHA256SUMS beside it, or set AGENT_SHA256"
  [ "$(sum "$work/$name")" = "$wanted" ] || die "the checksum of $name is wrong: nothing was installed"

  tar -xzf "$work/$name" -C "$work"
  program=$(find "$work" -type f -name agent | head -n 1)
  [ -n "$program" ] || die "there is no program in $name"
  "$program" --version > /dev/null || die "the program does not run on this machine"

  bin=${AGENT_BIN:-$HOME/.local/bin}
  mkdir -p "$bin"
  # A new name first: a running `agent` keeps its file.
  cp "$program" "$bin/.agent.new"
  chmod 755 "$bin/.agent.new"
  mv -f "$bin/.agent.new" "$bin/agent"
  say "Installed $("$bin/agent" --version) as $bin/agent."
  case :$PATH: in
    *:"$bin":*) ;;
    *) say "Add $bin to your PATH, for example: export PATH=\"$bin:\$PATH\"" ;;
  esac
  say "Try it: agent demo. To remove it: rm $bin/agent"
}

main "$@"
