#!/usr/bin/env bash
# Finds a Python with grafana-foundation-sdk, which Grafana generates from the schema of its dashboards, or gets it
# from PyPI into a folder of its own, and prints its path. Where it cannot be had it says so in one line and prints
# nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The epoch is when it was generated, 10.1.0 the version of the SDK.
version='1769699998!10.1.0'
digest=d131ffe49057fb669ba31ce7e28a303c96b3aecf4332b20de33cfa55110d498c
folder=${CARGO_TARGET_DIR:-$PWD/target}/grafana-sdk-10.1.0

get() {
  python3 -m venv "$folder" &&
    printf 'grafana-foundation-sdk==%s --hash=sha256:%s\n' "$version" "$digest" >"$folder/sdk.txt" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
      --require-hashes --requirement "$folder/sdk.txt" &&
    "$folder/bin/python" -c 'import grafana_foundation_sdk.models.dashboard' && touch "$folder/is-whole"
}

if [ ! -e "$folder/is-whole" ]; then
  echo "downloading grafana-foundation-sdk 10.1.0 from PyPI" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! get >"$folder/log" 2>&1; then
    echo "no grafana-foundation-sdk, so dashboards are not held to its schema: $(tail -n 1 "$folder/log")" >&2
    rm -rf "$folder"
    exit 0
  fi
fi
echo "$folder/bin/python"
