#!/usr/bin/env bash
# Puts images that image.sh built into the cluster of the current kubectl context, where that is one of kind, k3d or
# minikube: load.sh [anteroom] [loadtest].
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/images.sh

context=$(kubectl config current-context 2>/dev/null) || {
  echo "no current kubectl context: kubectl config use-context NAME" >&2
  exit 1
}
case $context in
  kind-*) load=(kind load image-archive --name "${context#kind-}") ;;
  k3d-*) load=(k3d image import --cluster "${context#k3d-}") ;;
  *)
    if ! { command -v minikube && minikube profile list --output json |
      grep --fixed-strings "\"Name\":\"$context\""; } >/dev/null 2>&1; then
      echo "the context $context is none of kind, k3d or minikube: push the image to a registry that the cluster can" \
        "pull from, and name it under images in your overlay" >&2
      exit 1
    fi
    load=(minikube image load --profile "$context")
    ;;
esac
if ! command -v "${load[0]}" >/dev/null; then
  echo "missing: ${load[0]}, which made the context $context" >&2
  exit 1
fi

tool=$(container_tool)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for target in "${@:-anteroom}"; do
  name=$(image_name "$target")
  archive=$folder/$target.tar
  echo "loading $name into $context" >&2
  case $tool in
    buildah) buildah push --quiet "$name" "docker-archive:$archive:$name" ;;
    *) "$tool" save --output "$archive" "$name" ;;
  esac
  "${load[@]}" "$archive"
done
