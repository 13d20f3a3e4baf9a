#!/usr/bin/env bash
# Writes what the programs are built of, as CycloneDX: target/sbom/PROGRAM.cdx.json. Gets cargo-cyclonedx into target/
# where it is not installed, which takes minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=0.5.9
target=${CARGO_TARGET_DIR:-$PWD/target}
PATH="$PATH:$target/tools/bin"

if ! command -v cargo-cyclonedx >/dev/null; then
  echo "installing cargo-cyclonedx $version into $target/tools" >&2
  cargo install --quiet --locked --root "$target/tools" "cargo-cyclonedx@$version"
fi
rm -rf "$target/sbom"
mkdir -p "$target/sbom"
for crate in services/admission services/scheduler services/issuer services/concert loadtest; do
  program=anteroom-${crate##*/}
  # It writes beside the manifests, those of other members of the workspace included.
  cargo cyclonedx --quiet --manifest-path "$crate/Cargo.toml" --format json --describe binaries --target all
  mv "$crate/${program}_bin.cdx.json" "$target/sbom/$program.cdx.json"
  find . -name '*_bin.cdx.json' -not -path './target/*' -delete
done
ls "$target/sbom"
