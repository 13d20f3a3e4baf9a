#!/usr/bin/env bash
# Installs Debian packages, without starting any service that comes with them: apt-install.sh
# PACKAGE... Needs root, or sudo that asks nothing.
set -euo pipefail

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
else
  echo "missing: $*. Please install: sudo apt-get install -y $*" >&2
  exit 1
fi
if ! command -v apt-get >/dev/null; then
  echo "missing: $*. Please install the like of these Debian packages; there is no apt-get." >&2
  exit 1
fi
run() { "${as_root[@]+"${as_root[@]}"}" "$@"; }

# Debian asks this program before it starts a service; 101 forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'run rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | run tee "$policy" >/dev/null
  run chmod 755 "$policy"
fi

echo "installing $*" >&2
run apt-get update -qq >&2
run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
