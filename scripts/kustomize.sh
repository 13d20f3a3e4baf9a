#!/usr/bin/env bash
# Finds Kustomize 5, or installs it, and prints how to call it: "kubectl kustomize", or the path of a program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=v5.8.1
tools=${CARGO_TARGET_DIR:-$PWD/target}/tools/bin

is_5() { "$@" 2>/dev/null | grep -Eq '(^|[^0-9.])v5\.'; }
find_it() {
  if is_5 kubectl version --client -o yaml; then
    echo "kubectl kustomize"
  elif is_5 kustomize version; then
    echo "kustomize build"
  elif [ -x "$tools/kustomize" ]; then
    echo "$tools/kustomize build"
  else
    return 1
  fi
}

if ! find_it; then
  # Debian 12's own kubectl is of 2021, before components.
  client=$(apt-cache policy kubernetes-client 2>/dev/null | sed -n 's/^ *Candidate: 1\.\([0-9]*\).*/\1/p')
  if [ "${client:-0}" -ge 27 ]; then
    scripts/apt-install.sh kubernetes-client
  elif command -v go >/dev/null; then
    echo "building kustomize $version into $tools" >&2
    CGO_ENABLED=0 GOBIN=$tools go install "sigs.k8s.io/kustomize/kustomize/${version%%.*}@$version"
  else
    echo "missing: kubectl 1.27 or newer. Please install: https://kubernetes.io/docs/tasks/tools" >&2
    exit 1
  fi
  find_it
fi
