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
fuzz() { cargo +nightly fuzz "$1" --sanitizer none "${@:2}"; }

# No sanitizer: our own code is safe Rust, and without it the build takes half the time.
echo "building the fuzz targets"
fuzz build
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for seeds in fuzz/seeds/*/; do
  target=$(basename "$seeds")
  mkdir -p "fuzz/corpus/$target"
  if fuzz run "$target" "fuzz/corpus/$target" "$seeds" -- \
    -seed="${FUZZ_SEED:-0}" -max_total_time="$seconds" -timeout=10 -max_len=4096 >"$log" 2>&1; then
    echo "$target: $(grep -m 1 '^Done ' "$log")"
  else
    tail -n 60 "$log"
    echo "$target: broken by the input above; mend it, and keep the input in $seeds"
    failed=1
  fi
done
exit "$failed"
