#!/usr/bin/env bash
# What takes too long for `make test`: ANTEROOM_HISTORIES (1 000 000) random histories against the reference
# model, new ones each time, and ANTEROOM_CHAOS_SECONDS (600) of killed and frozen processes. A history that
# fails is written down as a test, ready for services/core/tests/queue/histories/fixed.rs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/.."
export ANTEROOM_HISTORIES=${ANTEROOM_HISTORIES:-1000000}
export ANTEROOM_CHAOS_SECONDS=${ANTEROOM_CHAOS_SECONDS:-600}

"$here/prerequisites.sh"
cargo test --locked --profile soak -p anteroom-core --test queue random_histories -- --nocapture
cargo build --locked -p anteroom-admission -p anteroom-scheduler
export ANTEROOM_BIN_DIR=${CARGO_TARGET_DIR:-$PWD/target}/debug
cargo test --locked -p anteroom-admission --test faults every_process_is_killed -- --nocapture
