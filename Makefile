# "make help" lists the targets.

SHELL := /bin/bash
BUILD := build
GO    ?= go

# One binary with etcd, kube-apiserver and the rest; see test/cluster.
CLUSTER_VERSION := v1.36.3
CLUSTER_SOURCES := $(shell find test/cluster -name '*.go' -not -name '*_test.go') test/cluster/go.mod test/cluster/go.sum
CLUSTER_STATE   := $(BUILD)/cluster-state
TOOL            := $(GO) tool -modfile=test/tools/go.mod
INTERPRETERS    := go.starlark.net github.com/dop251/goja github.com/google/go-jsonnet
FACTS            = echo "go: $$($(GO) env GOVERSION)"; $(GO) list -m -f '{{.Path}}: {{.Version}}' $(INTERPRETERS)
FUZZTIME        ?= 5m
SHORT           ?=
BENCH           ?= .
PACKAGES         = $(shell $(GO) list ./... 2>/dev/null | grep -v '/test/e2e$$\|/test/hostile$$\|/test/layout$$')
# With -short the race detector leaves out packages that mostly compute: it makes their tests four times as long, and finds
# what it looks for in the packages that call them.
COMPUTING        = $(if $(SHORT),$(shell $(GO) list ./cmd/metascript ./controller/plan ./controller/rollout ./controller/selection ./manifests ./runtimes/... ./scripts/lib/... 2>/dev/null))

.DEFAULT_GOAL := help
.PHONY: help build cluster demo run cluster-up cluster-down test test-all test-unit test-hostile test-fuzz test-cluster test-e2e bench bench-cluster fuzz lint generate clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1|\2/' | column -t -s '|'

build: ## build build/metascript
	$(GO) build -trimpath -ldflags "-s -w" -o $(BUILD)/metascript ./cmd/metascript

cluster: $(BUILD)/cluster ## build build/cluster, the test cluster: 5 to 10 minutes the first time

$(BUILD)/cluster: $(CLUSTER_SOURCES)
	@echo "building the test cluster; the first time this takes some minutes" >&2
	cd test/cluster && $(GO) build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(CLUSTER_VERSION)" -o $(CURDIR)/$(BUILD)/cluster .

demo: build cluster ## watch the examples at work on a real control plane, then clean up
	@BUILD=$(BUILD) test/demo/demo.sh

run: build cluster ## the same setting-up, and stay: a cluster with the examples to play with
	@BUILD=$(BUILD) test/demo/demo.sh stay

cluster-up: cluster ## start the test cluster in the background and print its KUBECONFIG
	@$(BUILD)/cluster up --dir $(CLUSTER_STATE)

cluster-down: cluster ## end it
	@$(BUILD)/cluster down --dir $(CLUSTER_STATE)

test: lint ## everything that a change can break: what CI runs; about six minutes once all is built
	@$(MAKE) --no-print-directory -j3 SHORT=-short test-e2e test-cluster test-unit test-hostile

test-all: lint test-unit test-hostile test-fuzz test-cluster test-e2e ## the same at full length: every rerun, more rounds, every process with the race detector; about half an hour

test-unit: ## unit tests, the inputs of fuzz targets and the conformance suite, with the race detector
	$(GO) test -vet=off -race $(SHORT) -timeout 40m $(filter-out $(COMPUTING),$(PACKAGES))
	$(if $(SHORT),$(GO) test -vet=off $(SHORT) -timeout 40m $(COMPUTING))
	$(GO) test -vet=off -count=1 ./test/layout
	$(GO) test -C test/tools -count=1 ./...

test-hostile: ## scripts that attack the server
	$(GO) test -vet=off $(SHORT) -count=1 -timeout 60m ./test/hostile

test-fuzz: ## every fuzz target for 2,000 inputs: by count, since the clock's end is a race in Go 1.26
	test/fuzz.sh 2000x

test-cluster: cluster ## the tests of the test cluster itself
	cd test/cluster && $(GO) test -race -count=1 ./controlplane/... ./smoke/...

test-e2e: cluster ## the built binary against a real control plane; KUBECONFIG names another cluster
	$(GO) test -vet=off $(if $(SHORT),$(SHORT),-race) -count=1 -timeout 40m -parallel 10 ./test/e2e

bench: ## benchmarks; the tables of docs/benchmarks.md are written anew
	$(GO) test -run '^$$' -bench . -benchmem ./runtimes/... ./controller/...
	$(GO) test -c -o $(BUILD)/bench.test ./test/bench
	@set -o pipefail; { $(FACTS); \
	cd test/bench; for round in 1 2 3; do for only in bench skip; do \
	$(CURDIR)/$(BUILD)/bench.test -test.run '^$$' -test.bench . -test.$$only BenchmarkFixed -test.benchtime 200ms || exit; done; done; } \
	| $(GO) run ./test/bench/report docs/benchmarks.md

bench-cluster: cluster ## 5,000 parents on a real control plane, as scripts and as a webhook, edits, and up to 1,000 controllers: about 25 minutes; BENCH=Edit or BENCH=Controllers for those
	@set -o pipefail; { $(FACTS); $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 60m ./test/bench/scale; } | $(GO) run ./test/bench/report docs/benchmarks.md

fuzz: ## every fuzz target for FUZZTIME, 5m unless given
	test/fuzz.sh $(FUZZTIME)

lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l cmd controller engine examples manifests runtimes scripts test); if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

generate: ## make CRDs and deep copies from the Go types
	$(GO) generate ./controller/api/...

clean: ## remove what was built
	rm -rf $(BUILD)
