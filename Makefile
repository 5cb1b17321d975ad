# "make help" lists the targets.

SHELL := /bin/bash
BUILD := build
GO    ?= go

# One binary with all components of a control plane; see test/cluster. After a change of the version, run "make schemas".
CLUSTER_VERSION := v1.36.3
CLUSTER_SOURCES := $(shell find test/cluster -name '*.go' -not -name '*_test.go') test/cluster/go.mod test/cluster/go.sum test/cluster/build.sh
# The same for the oldest version of Kubernetes that is supported.
OLDEST_VERSION  := v1.33.13
OLDEST_SOURCES  := $(CLUSTER_SOURCES) test/cluster/oldest/go.mod test/cluster/oldest/go.sum
CLUSTER_STATE   := $(BUILD)/cluster-state
TOOL            := $(GO) tool -modfile=test/tools/go.mod
# The version that the program reports. Without git, or outside of a repository, the program reports the version of its module.
VERSION         ?= $(shell git describe --tags --always --dirty 2>/dev/null)
REVISION         = $(shell git rev-parse --verify -q HEAD 2>/dev/null)
# The date of the commit and not of the build, so that two builds are the same.
DATE             = $(shell TZ=UTC0 git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
VERSION_PACKAGE := metascript/cmd/metascript/internal/version
LDFLAGS          = -s -w -X $(VERSION_PACKAGE).number=$(VERSION) -X $(VERSION_PACKAGE).revision=$(REVISION) -X $(VERSION_PACKAGE).date=$(DATE)
IMAGE           ?= $(BUILD)/image
# A semantic version, which Helm needs.
CHART_VERSION    = $(or $(shell echo "$(VERSION)" | sed -nE 's/^v?([0-9]+\.[0-9]+\.[0-9]+.*)$$/\1/p'),0.0.0$(VERSION:%=-%))
DIST            ?= $(BUILD)/dist
# What a release says of where it comes from: the address of the repository, that of the archives, and who builds them.
SOURCE          ?= https://example.com/metascript
DOWNLOADS       ?= $(SOURCE)/releases/download/$(VERSION)
BUILDER         ?= urn:metascript:local
PUBLISH          = --version "$(VERSION)" --revision "$(REVISION)" --source "$(SOURCE)" --downloads "$(DOWNLOADS)" --builder "$(BUILDER)"
INTERPRETERS    := go.starlark.net github.com/dop251/goja github.com/google/go-jsonnet
FACTS            = echo "go: $$($(GO) env GOVERSION)"; $(GO) list -m -f '{{.Path}}: {{.Version}}' $(INTERPRETERS)
FUZZTIME        ?= 5m
SHORT           ?=
BENCH           ?= .
PACKAGES         = $(shell $(GO) list ./... 2>/dev/null | grep -v '/test/e2e$$\|/test/hostile$$\|/test/layout$$')
# With -short, these packages are tested without the race detector, because with it their tests take four times as long. The tests
# of the packages that call them find their data races.
COMPUTING        = $(if $(SHORT),$(shell $(GO) list ./cmd/metascript ./controller/plan ./controller/rollout ./controller/selection ./manifests ./runtimes/... ./scripts/lib/... 2>/dev/null))

.DEFAULT_GOAL := help
.PHONY: help build image chart release release-image cluster cluster-oldest play demo run cluster-up cluster-down test test-all test-unit test-hostile test-fuzz test-cluster test-e2e test-strategy test-faults test-oldest test-image test-chart test-release test-monitoring site test-site test-types bench bench-cluster fuzz lint generate schemas references builtins clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1|\2/' | column -t -s '|'

build: ## build build/metascript
	$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $(BUILD)/metascript ./cmd/metascript

image: ## build the container image in build/image: an OCI layout, and an archive for each platform
	$(GO) build -C manifests/image -o $(CURDIR)/$(BUILD)/imagebuilder .
	$(BUILD)/imagebuilder --source . --out $(IMAGE) --version "$(VERSION)" --revision "$(REVISION)" --date "$(DATE)" --ldflags "$(LDFLAGS)"

chart: ## package the Helm chart in build/chart; the first build of helm takes about 3 minutes
	$(GO) build -C test/tools/helm -o $(CURDIR)/$(BUILD)/helm helm.sh/helm/v4/cmd/helm
	rm -rf $(BUILD)/chart && mkdir -p $(BUILD)/chart
	cp -RL manifests/chart $(BUILD)/chart/metascript
# The archive has the times of the files.
	find $(BUILD)/chart/metascript -exec touch -d "$(DATE)" {} +
	$(BUILD)/helm package $(BUILD)/chart/metascript --version "$(CHART_VERSION)" --app-version "$(or $(VERSION),latest)" --destination $(BUILD)/chart
	rm -r $(BUILD)/chart/metascript

release: build chart ## build the archives of a release in build/dist, for six platforms, with SBOMs, checksums and provenance; the first build takes about 20 minutes
	$(GO) build -C test/tools/goreleaser -p=1 -o $(CURDIR)/$(BUILD)/ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod github.com/goreleaser/goreleaser/v2
	$(GO) build -C manifests/image -o $(CURDIR)/$(BUILD)/publish ./publish
	rm -rf $(BUILD)/release && mkdir -p $(BUILD)/release/completions
	for shell in bash zsh fish powershell; do $(BUILD)/metascript completion $$shell > $(BUILD)/release/completions/metascript.$$shell || exit; done
	$(BUILD)/metascript man $(BUILD)/release/man
	sed 's|^dist: .*|dist: $(DIST)|' .goreleaser.yaml > $(BUILD)/release/goreleaser.yaml
	PATH="$(CURDIR)/$(BUILD):$$PATH" VERSION="$(VERSION)" LDFLAGS="$(LDFLAGS)" DATE="$(DATE)" TIMESTAMP="$$(git show -s --format=%ct)" GOMODCACHE="$$($(GO) env GOMODCACHE)" \
	$(BUILD)/goreleaser release --snapshot --clean --parallelism 2 --config $(BUILD)/release/goreleaser.yaml
	cp $(BUILD)/chart/*.tgz $(DIST)
	$(BUILD)/publish --dist $(DIST) $(PUBLISH) files

release-image: image ## push the image of build/image to TO, with signatures, SBOMs and provenance; COSIGN_PRIVATE_KEY has the key
	$(GO) build -C manifests/image -o $(CURDIR)/$(BUILD)/publish ./publish
	$(BUILD)/publish --image $(IMAGE) --to "$(TO)" $(PUBLISH) image

cluster: $(BUILD)/cluster ## build build/cluster, the test cluster; the first build on a machine takes 5 to 10 minutes

$(BUILD)/cluster: $(CLUSTER_SOURCES)
	@GO=$(GO) test/cluster/build.sh $@ $(CLUSTER_VERSION)

cluster-oldest: $(BUILD)/cluster-oldest ## build build/cluster-oldest, the same for the oldest supported version of Kubernetes; the first build takes 5 to 10 minutes

$(BUILD)/cluster-oldest: $(OLDEST_SOURCES)
	@GO=$(GO) test/cluster/build.sh $@ $(OLDEST_VERSION) oldest/go.mod

play: build ## simulate four of the examples, in seconds and without a cluster
	@METASCRIPT=$(BUILD)/metascript test/demo/play.sh $(BUILD)/play

demo: build cluster ## run four of the examples on a real control plane, then clean up
	@BUILD=$(BUILD) test/demo/demo.sh

run: build cluster ## start a cluster, the server and these examples, and stop them on Ctrl-C
	@BUILD=$(BUILD) test/demo/demo.sh stay

cluster-up: cluster ## start the test cluster in the background and print its KUBECONFIG
	@$(BUILD)/cluster up --dir $(CLUSTER_STATE)

cluster-down: cluster ## stop the test cluster
	@$(BUILD)/cluster down --dir $(CLUSTER_STATE)

# Unit tests have a lower priority than the control planes, because a server ends if it cannot renew its Lease for 10 seconds.
test: lint ## run lint and all tests with -short, as CI does; four to seven minutes when everything is built
	@$(MAKE) --no-print-directory -j3 SHORT=-short PRIORITY='nice -n 5' test-e2e test-cluster test-unit test-hostile

test-all: lint test-unit test-hostile test-fuzz test-cluster test-e2e test-strategy test-faults test-oldest test-image test-chart test-release test-monitoring test-site ## run lint and all tests without -short, and build every server with the race detector; two to three hours on two cores

test-unit: ## run unit tests, seed inputs of fuzz targets and the conformance suite, with the race detector
	$(PRIORITY) $(GO) test -vet=off -race $(SHORT) -timeout 40m $(filter-out $(COMPUTING),$(PACKAGES))
	$(if $(SHORT),$(PRIORITY) $(GO) test -vet=off $(SHORT) -timeout 40m $(COMPUTING))
	$(GO) test -vet=off -count=1 ./test/layout
	$(GO) test -C test/tools -count=1 ./...

test-hostile: ## run scripts that attack the server
	$(GO) test -vet=off $(SHORT) -count=1 -timeout 60m ./test/hostile

test-fuzz: ## run every fuzz target with 2,000 inputs
	test/fuzz.sh 2000x

test-cluster: cluster ## run the tests of the test cluster
	cd test/cluster && $(GO) test -race -count=1 ./controlplane/... ./smoke/...

test-e2e: cluster ## run the end-to-end tests on a real control plane; set KUBECONFIG to use another cluster
	$(GO) test -vet=off $(if $(SHORT),$(SHORT),-race) -count=1 -timeout 40m -parallel 8 ./test/e2e

test-strategy: cluster ## run the end-to-end scripts that set no apply strategy, with -short, with server-side apply
	$(GO) test -vet=off -short -count=1 -timeout 40m -parallel 8 -run '^(TestScripts|TestWebhooks)$$' ./test/e2e -strategy=server-side-apply

# The seed of what is random is printed; SEED makes the same run again.
test-faults: cluster ## make faults between the server and the API server, and kill the server before and after its writes in each example
	$(GO) test -vet=off -count=1 -timeout 60m -v -run '^TestFaults$$' ./test/e2e -faults $(SEED:%=-seed=%)
	@for when in before after; do $(GO) test -vet=off -short -count=1 -timeout 60m -parallel 2 -v -run '^TestScripts$$/^example-' ./test/e2e -kill=$$when $(SEED:%=-seed=%) || exit; done

# The answers in test/answers are those of the current version.
test-oldest: cluster-oldest ## run the end-to-end tests, with -short, on the oldest version of Kubernetes that is supported
	cd test/cluster && $(GO) test -count=1 ./smoke -cluster=$(CURDIR)/$(BUILD)/cluster-oldest
	KUBECONFIG= $(GO) test -vet=off -short -count=1 -timeout 40m -parallel 8 -skip '^TestAnswersOfTheAPIServer$$' ./test/e2e -cluster=$(CURDIR)/$(BUILD)/cluster-oldest

test-image: image cluster ## test the image: its files, a second build, and the server in it on a real control plane
	cd test/image && $(GO) test -count=1 ./...

test-chart: build chart cluster ## test the Helm chart on a real control plane: install, upgrade, roll back, replace Metacontroller, uninstall
	cd test/chart && $(GO) test -count=1 -timeout 30m ./...

test-release: release image cluster ## test the archives, the image and their signatures, and a second build
	$(GO) build -C test/release -o $(CURDIR)/$(BUILD)/ github.com/sigstore/cosign/v3/cmd/cosign sigs.k8s.io/krew/cmd/krew sigs.k8s.io/krew/cmd/validate-krew-manifest
	cd test/release && $(GO) test -count=1 -timeout 30m ./...

test-monitoring: ## test the alerts with promtool; the first build of promtool takes about 3 minutes
	$(GO) build -modfile=test/tools/promtool/go.mod -tags remove_all_sd -o $(BUILD)/promtool github.com/prometheus/prometheus/cmd/promtool
	$(BUILD)/promtool check rules manifests/monitoring/rules.yaml
	$(BUILD)/promtool test rules test/monitoring/rules_test.yaml

site: ## build the documentation as a site, with the playground, in build/site
	$(GO) build -C test/tools/hugo -p=1 -o $(CURDIR)/$(BUILD)/hugo github.com/gohugoio/hugo
	rm -rf $(BUILD)/site $(BUILD)/reference
	$(GO) run ./cmd/metascript reference $(BUILD)/reference
	HUGO_PARAMS_VERSION=$(VERSION) $(BUILD)/hugo --source docs/site --noBuildLock --panicOnWarning --quiet --destination $(CURDIR)/$(BUILD)/site
	cp "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" $(BUILD)/site/
	GOOS=js GOARCH=wasm $(GO) build -trimpath -ldflags "-s -w" -o $(BUILD)/playground.wasm ./cmd/metascript/internal/playground/wasm
	gzip -9 -n -c $(BUILD)/playground.wasm > $(BUILD)/site/playground.wasm.gz

test-site: site ## run the tests of the site in Chromium, which must be installed
	cd test/site && $(GO) test -count=1 ./...

test-types: build ## check the output of "metascript types" with TypeScript; needs npx and the network, so it is not part of test
	test/types.sh $(BUILD)/metascript

bench: ## run benchmarks and write the tables of docs/benchmarks.md
	$(GO) test -run '^$$' -bench . -benchmem ./runtimes/... ./controller/...
	$(GO) test -c -o $(BUILD)/bench.test ./test/bench
	@set -o pipefail; { $(FACTS); \
	cd test/bench; for round in 1 2 3; do for only in bench skip; do \
	$(CURDIR)/$(BUILD)/bench.test -test.run '^$$' -test.bench . -test.$$only BenchmarkFixed -test.benchtime 200ms || exit; done; done; } \
	| $(GO) run ./test/bench/report docs/benchmarks.md

bench-cluster: cluster ## run benchmarks on a real control plane, beside references: 500 and 2,000 parents, edits, 1,000 controllers; about 30 minutes; see test/bench/scale/doc.go
	@set -o pipefail; { $(FACTS); $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 60m ./test/bench/scale; } | $(GO) run ./test/bench/report docs/benchmarks.md

fuzz: ## run every fuzz target for FUZZTIME, 5m by default
	test/fuzz.sh $(FUZZTIME)

lint: ## run gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l cmd controller engine examples manifests runtimes scripts test); if [ -n "$$unformatted" ]; then echo "not formatted with gofmt: $$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

generate: ## generate the CRDs, the deep copy methods and the tables of docs/reference.md from the Go types, the PrometheusRule, and the README of the chart
	$(GO) generate ./controller/api/...
	$(GO) run ./test/docs/reference docs/reference.md
	manifests/monitoring/generate.sh
	$(GO) generate ./manifests/chart

# jsonnet is the interpreter in C++, which Debian has. The package semver is a part of npm.
references: ## write the answers of Python, Jsonnet and npm again, with which those of the built-in functions are compared; needs python3, jsonnet and npm
	cd runtimes/testdata/references && python3 -W ignore starlark.py > starlark.jsonl && python3 jsonnet.py > jsonnet.jsonl
	cd scripts/lib/testdata/references && python3 library.py > library.jsonl && node semver.js > semver.jsonl

schemas: cluster ## write the embedded kinds and schemas of Kubernetes, read from the API server of the test cluster
	@unset KUBECONFIG; dir=$$(mktemp -d); trap '$(BUILD)/cluster down --dir '$$dir'; rm -rf '$$dir EXIT; \
	set -e; export $$($(BUILD)/cluster up --dir $$dir); $(GO) run ./test/schemas/generate

builtins: ## write the answers of Node.js with which those of JavaScript are compared, and the tables of emoji; needs node 20
	cd runtimes/javascript/testdata/builtins && TZ=UTC LC_ALL=en_US.UTF-8 node generate.js
	cd runtimes/javascript/testdata/builtins && node emoji.js > $(CURDIR)/runtimes/internal/pattern/emoji.txt

clean: ## remove the directory build
	rm -rf $(BUILD)
