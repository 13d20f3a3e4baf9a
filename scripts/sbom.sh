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
mkdir -p "$target/sbom"
for crate in services/admission services/scheduler services/concert loadtest; do
  # It writes beside the manifests, of the crates that this one is built of too.
  cargo cyclonedx --quiet --manifest-path "$crate/Cargo.toml" --format json --describe binaries --target all
done
find . -name '*.cdx.json' -not -path './target/*' -not -path "$target/*" -print0 | while IFS= read -r -d '' file; do
  mv "$file" "$target/sbom/"
done
ls "$target/sbom"
