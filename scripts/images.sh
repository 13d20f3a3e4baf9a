# What the images are called, and what builds them: sourced by the scripts beside it. IMAGE and IMAGE_TAG name others,
# CONTAINER_TOOL another builder.
image_version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

image_name() { # anteroom | loadtest
  case $1 in
    anteroom) echo "${IMAGE:-ghcr.io/anteroom/anteroom}:${IMAGE_TAG:-$image_version}" ;;
    loadtest) echo "${IMAGE:-ghcr.io/anteroom/anteroom}/loadtest:${IMAGE_TAG:-$image_version}" ;;
    *)
      echo "$1: anteroom or loadtest" >&2
      return 2
      ;;
  esac
}

container_tool() {
  local tool
  for tool in ${CONTAINER_TOOL:-docker podman buildah}; do
    # A docker whose daemon is away builds nothing.
    if command -v "$tool" >/dev/null && "$tool" info >/dev/null 2>&1; then
      echo "$tool"
      return
    fi
  done
  echo "missing: docker (with its daemon), podman or buildah. Please install one: apt-get install -y buildah" >&2
  return 1
}
