#!/usr/bin/env bash
# Builds the images of this checkout with whichever of docker, podman and buildah is there, under the names that k8s/
# uses: image.sh [anteroom] [loadtest]. More arguments of the build go into IMAGE_BUILD_ARGS, such as
# "--platform linux/arm64".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/images.sh

tool=$(container_tool)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
if ! git diff --quiet HEAD -- 2>/dev/null; then revision=$revision-changed; fi
read -r -a more <<<"${IMAGE_BUILD_ARGS:-}"
for target in "${@:-anteroom}"; do
  name=$(image_name "$target")
  echo "building $name with $tool (the first time: minutes)" >&2
  # buildah has to be told to keep what it built for the next time; buildah rmi --prune takes that away.
  DOCKER_BUILDKIT=1 BUILDAH_LAYERS=true "$tool" build "${more[@]+"${more[@]}"}" --target "$target" --file Dockerfile \
    --build-arg "VERSION=$image_version" --build-arg "REVISION=$revision" --tag "$name" .
done
