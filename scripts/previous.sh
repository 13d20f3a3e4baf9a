#!/usr/bin/env bash
# Builds admission and scheduler of the previous release from its commit, once, and prints the folder
# with the programs. With a program it runs that with the folder in ANTEROOM_PREVIOUS_BIN_DIR instead:
# previous.sh [PROGRAM [ARGUMENT...]]. If the commit is not in this clone, it says so in one line, and
# runs nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# 0.2.0. Change it after each release.
commit=041ac284744aa6da896cd6789bcbefaaf83e9cdb
folder=${CARGO_TARGET_DIR:-$here/target}/previous-${commit:0:8}
programs=(anteroom-admission anteroom-scheduler)

build() {
  local build=$folder.build
  rm -rf "$build"
  mkdir -p "$build/source" "$build/programs"
  git -C "$here" archive "$commit" | tar -x -C "$build/source"
  cd "$build/source"
  # In a target folder of its own. All tests together need other features of the dependencies, so
  # tokio, serde, redis and all that use them could not be shared. Tests that run beside it have priority.
  CARGO_TARGET_DIR=$build/target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false \
    nice -n 5 cargo build --quiet --locked "${programs[@]/#/--package=}"
  mv "${programs[@]/#/$build/target/debug/}" "$build/programs"
  mv "$build/programs" "$folder"
  rm -rf "$build"
}

if [ ! -d "$folder" ]; then
  if ! git -C "$here" cat-file -e "$commit^{commit}" 2>/dev/null; then
    echo "no previous release: this clone does not have its commit ${commit:0:8}" >&2
    # Where tests run, it is no failure.
    [ $# -gt 0 ] && exit 0 || exit 1
  fi
  echo "building the previous release, ${commit:0:8}" >&2
  (build) >&2
fi
if [ $# -eq 0 ]; then
  echo "$folder"
else
  ANTEROOM_PREVIOUS_BIN_DIR=$folder exec "$@"
fi
