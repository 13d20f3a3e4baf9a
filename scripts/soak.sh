#!/usr/bin/env bash
# What takes too long for `make test`: ANTEROOM_HISTORIES (1 000 000) random histories against the
# reference models, of each subsystem, new ones each time; a million operations of a pool, and a
# million over a link that cuts replies; ANTEROOM_CHAOS_SECONDS (600) of killed and frozen processes
# for each of queue, event, webhook and pool; and ANTEROOM_LIMIT_DECISIONS (1 000 000) for each
# algorithm of limits. A history that fails is written down as a test, ready for histories/fixed.rs
# in the subsystem's folder of services/core/tests.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/.."
export ANTEROOM_HISTORIES=${ANTEROOM_HISTORIES:-1000000}
export ANTEROOM_CHAOS_SECONDS=${ANTEROOM_CHAOS_SECONDS:-600}

"$here/prerequisites.sh"
for subsystem in queue limit breaker event pool; do
  cargo test --locked --profile soak -p anteroom-core --test "$subsystem" random_histories -- --nocapture
done
cargo test --locked --profile soak -p anteroom-core --test pool conservation
cargo build --locked -p anteroom-admission -p anteroom-scheduler -p anteroom-issuer
export ANTEROOM_BIN_DIR=${CARGO_TARGET_DIR:-$PWD/target}/debug
cargo test --locked -p anteroom-admission --test faults -- is_killed are_killed --nocapture --test-threads 1
ANTEROOM_LIMIT_DECISIONS=${ANTEROOM_LIMIT_DECISIONS:-1000000} \
  cargo test --locked -p anteroom-admission --test limits promise_07 -- --nocapture
