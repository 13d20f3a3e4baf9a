#!/usr/bin/env bash
# Finds schemathesis, or gets it from PyPI into a folder of its own, and prints its path. Where it cannot be
# had it says so in one line and prints nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=4.32.5
folder=${CARGO_TARGET_DIR:-$PWD/target}/schemathesis-$version

get() {
  python3 -m venv "$folder" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
      "schemathesis==$version" &&
    "$folder/bin/schemathesis" --version
}

if [ ! -x "$folder/bin/schemathesis" ]; then
  echo "downloading schemathesis $version from PyPI" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! get >"$folder/log" 2>&1; then
    echo "no schemathesis, so the API documents are not tried with it: $(tail -n 1 "$folder/log")" >&2
    rm -rf "$folder"
    exit 0
  fi
fi
echo "$folder/bin/schemathesis"
