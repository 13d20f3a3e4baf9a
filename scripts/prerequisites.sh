#!/usr/bin/env bash
# Installs the programs that the tests start, those that are missing.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
PATH="$PATH:/usr/sbin"

if ! command -v cargo >/dev/null; then
  echo "missing: Rust. Please install: https://rustup.rs" >&2
  exit 1
fi

packages=()
has() { command -v "$1" >/dev/null; }
has cc || packages+=(gcc libc6-dev)
has curl || packages+=(curl)
has jq || packages+=(jq)
has openssl || packages+=(openssl)
has redis-server || has valkey-server || [ -n "${ANTEROOM_REDIS_BIN:-}" ] || packages+=(redis-server)
has nginx || packages+=(nginx-light)
has haproxy || packages+=(haproxy)
has prometheus && has promtool || packages+=(prometheus)
has python3 || packages+=(python3)
has node || packages+=(nodejs)
has go || packages+=(golang-go)
has mvn && has javac || packages+=(maven default-jdk-headless)
has chromium || has chromium-browser || has google-chrome || [ -n "${ANTEROOM_CHROMIUM:-}" ] || packages+=(chromium)
# Elsewhere it has other names, and the tests leave it out.
[ "$(. /etc/os-release 2>/dev/null && echo "${ID:-}")" != debian ] || has firefox-esr || packages+=(firefox-esr)
compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null || packages+=(libfaketime)
if [ ${#packages[@]} -gt 0 ]; then
  "$here/apt-install.sh" "${packages[@]}"
fi
