# One small image with all programs: admission, scheduler, issuer and the sample shop. `make image` builds it with
# docker, podman or buildah; with `--target loadtest` it is the load harness.
ARG RUST=docker.io/library/rust:1.95-bookworm
ARG BASE=gcr.io/distroless/cc-debian12:nonroot

# What says which dependencies there are, with a stub for each crate: it changes with a manifest only (and has no
# dates, which some builders compare), so all that is built from it is cached. A tool for that (cargo-chef) would have
# to be compiled first.
FROM ${RUST} AS manifests
WORKDIR /all
COPY . .
# No pipe: images of the OCI format, which is what podman and buildah build, have no SHELL to make one fail.
RUN mkdir /manifests \
    && find . \( -name Cargo.toml -o -name Cargo.lock \) -exec cp --parents --target-directory /manifests {} + \
    && for manifest in /manifests/*/Cargo.toml /manifests/*/*/Cargo.toml; do \
        src=${manifest%Cargo.toml}src && mkdir "$src" && echo '//! A stub.' >"$src/lib.rs" \
            && printf '//! A stub.\nfn main() {}\n' >"$src/main.rs" || exit; \
    done \
    && find /manifests -exec touch --date=@0 {} +

FROM ${RUST} AS dependencies
WORKDIR /build
# Names without their addresses: enough for a stack in a log, and a third of the size.
ENV CARGO_PROFILE_RELEASE_STRIP=debuginfo CARGO_TERM_COLOR=never
COPY --from=manifests /manifests .
RUN cargo build --release --locked -p anteroom-admission -p anteroom-scheduler -p anteroom-issuer -p anteroom-envoy \
    -p anteroom-concert

FROM dependencies AS build
COPY . .
# Else they look older than what was built of the stubs.
RUN find services loadtest -name '*.rs' -exec touch {} + \
    && cargo build --release --locked -p anteroom-admission -p anteroom-scheduler -p anteroom-issuer -p anteroom-envoy \
    -p anteroom-concert

FROM dependencies AS loadtest-dependencies
RUN cargo build --release --locked -p anteroom-loadtest

FROM loadtest-dependencies AS loadtest-build
COPY . .
RUN find services loadtest -name '*.rs' -exec touch {} + \
    && cargo build --release --locked -p anteroom-loadtest

FROM ${BASE} AS loadtest
ARG REVISION=unknown
LABEL org.opencontainers.image.title="anteroom-loadtest" \
      org.opencontainers.image.description="Measures a service, works out the rules of its waiting room, rehearses the rush" \
      org.opencontainers.image.source="https://github.com/anteroom/anteroom" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=loadtest-build /build/target/release/anteroom-loadtest /usr/bin/
COPY loadtest/scenarios /usr/share/anteroom/scenarios
USER 65532:65532
WORKDIR /tmp
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/anteroom-loadtest"]
CMD ["--help"]

FROM ${BASE} AS anteroom
ARG REVISION=unknown
LABEL org.opencontainers.image.title="anteroom" \
      org.opencontainers.image.description="A waiting room and admission service for Kubernetes" \
      org.opencontainers.image.source="https://github.com/anteroom/anteroom" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /build/target/release/anteroom-admission /build/target/release/anteroom-scheduler \
     /build/target/release/anteroom-issuer /build/target/release/anteroom-envoy \
     /build/target/release/anteroom-concert /usr/bin/
COPY LICENSE /usr/share/doc/anteroom/
USER 65532:65532
EXPOSE 8080 8081 8090 9001 9090 9091 9092 9093
STOPSIGNAL SIGTERM
# No entry point: which program it is says the command.
CMD ["/usr/bin/anteroom-admission"]
