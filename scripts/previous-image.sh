#!/usr/bin/env bash
# Builds the services of the version before this one, by CHANGELOG.md, out of git, as an image from which
# `make k8s-e2e` rolls out this checkout: previous-image.sh [REF]. Where a registry has that version, take it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/images.sh

version=$(sed -n 's/^## \[\([0-9][0-9.]*\)\].*/\1/p' CHANGELOG.md | grep -vxF "$image_version" | head -n 1)
# The commit that gave it its heading.
commit=$(git log --format=%H -S"## [$version]" -- CHANGELOG.md | tail -n 1)
[ -n "$commit" ] || { echo "no commit names the version $version: is this a whole clone?" >&2; exit 1; }
ref=${1:-$(IMAGE_TAG=$version-previous image_name anteroom)}
tool=$(container_tool)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git archive "$commit" | tar -x -C "$folder"
# A version may be older than the Dockerfile, and have fewer programs than it builds.
packages='' programs=''
for service in admission scheduler issuer; do
  [ -d "$folder/services/$service" ] || continue
  packages+=" -p anteroom-$service" programs+=" /build/target/release/anteroom-$service"
done
cat >"$folder/Dockerfile.previous" <<END
ARG RUST=docker.io/library/rust:1.95-bookworm
ARG BASE=gcr.io/distroless/cc-debian12:nonroot
FROM \${RUST} AS build
WORKDIR /build
COPY . .
RUN cargo build --release --locked$packages
FROM \${BASE}
COPY --from=build$programs /usr/bin/
USER 65532:65532
STOPSIGNAL SIGTERM
CMD ["/usr/bin/anteroom-admission"]
END
echo "building $ref of $version, ${commit:0:7}, with $tool (minutes)" >&2
read -r -a more <<<"${IMAGE_BUILD_ARGS:-}"
"$tool" build "${more[@]+"${more[@]}"}" --file "$folder/Dockerfile.previous" --tag "$ref" "$folder"
echo "$ref"
