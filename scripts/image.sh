#!/usr/bin/env bash
# Builds the images of this checkout with whichever of docker, podman and buildah is there, under the names that k8s/
# uses: image.sh [anteroom] [loadtest]. More arguments of the build go into IMAGE_BUILD_ARGS, such as
# "--platform linux/arm64".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/images.sh

tool=$(container_tool)
revision=$(git describe --always --abbrev=40 --exclude='*' --dirty=-changed 2>/dev/null || echo unknown)
read -r -a more <<<"${IMAGE_BUILD_ARGS:-}"
for target in "${@:-anteroom}"; do
  name=$(image_name "$target")
  echo "building $name with $tool (the first time: minutes)" >&2
  # The revision as text: podman and buildah take a LABEL of an ARG, and some versions one of --label, out of their
  # cache whatever it is now. buildah has to be told to keep a cache; buildah rmi --prune takes that away.
  sed "s/\${REVISION}/$revision/" Dockerfile | DOCKER_BUILDKIT=1 BUILDAH_LAYERS=true \
    "$tool" build "${more[@]+"${more[@]}"}" --target "$target" --file - --tag "$name" .
done
