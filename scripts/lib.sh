# Shared by the scripts beside it; to be sourced, not run.
# shellcheck shell=bash

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll
TOOLS=$CACHE/tools

# One target folder for every clone: a second clone, or a CI run in a fresh folder, rebuilds only what changed.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$CACHE/target}
export PATH="$TOOLS/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-auto}

NEXTEST_VERSION=0.9.143
DENY_VERSION=0.20.2
TAURI_DRIVER_VERSION=2.1.0

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# Runs one named step and prints how long it took. Its output goes through as it is.
step() {
  local name=$1 began=$SECONDS
  shift
  say ""
  say "── $name"
  if "$@"; then
    say "── $name: done in $((SECONDS - began)) s"
  else
    local rc=$?
    say "── $name: FAILED after $((SECONDS - began)) s (exit $rc)"
    return "$rc"
  fi
}

# Debug builds of our own programs, where cargo puts them.
built() { printf '%s/%s/%s' "$CARGO_TARGET_DIR" "$1" "$2"; }
