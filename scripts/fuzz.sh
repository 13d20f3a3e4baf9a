#!/usr/bin/env bash
# Runs each fuzz target for FUZZ_SECONDS (30), from FUZZ_SEED (0: another one each time). Without a nightly
# toolchain it does nothing: the seeds
# and every input that was once found are run by `make test`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/.."
seconds=${FUZZ_SECONDS:-30}

if ! rustup run nightly rustc --version >/dev/null 2>&1; then
  echo "no nightly toolchain, so nothing is fuzzed; to get one: rustup toolchain install nightly"
  exit 0
fi
# libFuzzer is C++.
command -v c++ >/dev/null || "$here/apt-install.sh" g++
command -v cargo-fuzz >/dev/null || cargo install --quiet --locked cargo-fuzz --version 0.13.2

# No sanitizer: our own code is safe Rust, and without it the build takes half the time.
echo "building the fuzz targets"
cargo +nightly fuzz build --sanitizer none
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# One target for each processor at a time: each uses one.
run() {
  local target=$1 log=$folder/$1.log
  mkdir -p "fuzz/corpus/$target"
  if cargo +nightly fuzz run "$target" --sanitizer none "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
    -seed="${FUZZ_SEED:-0}" -max_total_time="$seconds" -timeout=10 -max_len=4096 >"$log" 2>&1; then
    echo "$target: $(grep -m 1 '^Done ' "$log")"
  else
    { flock 9 && tail -n 60 "$log"; } 9>>"$folder/lock"
    echo "$target: broken by the input above; fix it, and keep the input in fuzz/seeds/$target"
    touch "$folder/failed"
  fi
}
export -f run
export folder seconds
ls fuzz/seeds | xargs -P "$(nproc)" -I '{}' bash -c 'run {}'
[ ! -e "$folder/failed" ]
