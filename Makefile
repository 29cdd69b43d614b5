# The package pattern "work" matches the packages of every module in go.work.

FUZZTIME    ?= 10s
STRESSTIME  ?= 5m
STRESSCOUNT ?= 20
KILLS       ?= 500
NEMESIS     ?= 10m
CROWD       ?= 10000

# The release after the one that go.mod names.
NEXT ?= go1.27.2

# The modules that are published. Module lab has what serves development only.
PUBLISHED := ./... ./cmd/... ./durable/... ./prometheus/...

# The packages with goroutines, which the race detector can say something about. Walks of
# interleavings, models and allocation counts skip themselves there: they run in the lane
# without it, complete.
RACE := . ./internal/engine ./internal/context ./internal/alarm ./loop ./time ./context ./clock ./inspect ./client \
	./test/contract ./test/contexts ./test/foreign ./test/stress ./lab/check ./lab/check/clocks \
	./durable ./durable/local ./durable/internal/kvstore ./durable/jetstream ./cmd/internal/serve/...

# Shows each package as it finishes. Vet is a step of the gate and of make quick.
GOTEST := go run gotest.tools/gotestsum --format pkgname --format-hide-empty-pkg --hide-summary skipped -- -vet=off

# What must compile and vet besides the host.
PLATFORMS := linux/386 linux/arm64 darwin/arm64 windows/amd64

# Built by the Go release in use: staticcheck cannot read code newer than itself.
BIN   := .bin
TOOLS := $(BIN)/installed-$(shell go env GOVERSION)

# mod-check compares them with go.work. Modules in testdata are test input.
GOMODS := $(shell find . -name go.mod ! -path '*/testdata/*')

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' Makefile

.PHONY: quick
quick: ## an answer in a minute: vet, and the tests with -short
	go vet $(PUBLISHED)
	go test -short $(PUBLISHED)

.PHONY: test
test: needs ## run all tests: in full without the race detector, what is concurrent with it, Go's own on the drop-ins
	@echo '=== 1 of 3: all packages, without the race detector'
	@$(GOTEST) $$(go list work | grep -v /test/conformance)
	@# These read files of other modules, which the test cache does not track.
	@go test -count=1 ./lab/bench/figures ./lab/check/dashboard ./prometheus
	@go test -count=1 -run 'Page|Examples|Unit|Modules' ./cmd/foliot ./durable/internal/moves ./durable/jetstream
	@echo '=== 2 of 3: concurrent packages, with the race detector'
	@$(GOTEST) -race $(RACE)
	@# It watches the clock while it runs whole test suites, so nothing may run beside it.
	@echo "=== 3 of 3: Go's own tests, against the drop-ins"
	@$(GOTEST) -skip UnderTheRaceDetector ./test/conformance

.PHONY: needs
needs:
	@set -- $$(go env CC); command -v "$$1" >/dev/null || { \
		echo 'make test needs a C compiler for the race detector: install gcc or clang. make quick needs only Go.' >&2; exit 1; }

.PHONY: full
full: ## run what make test leaves out because it takes long: every store, cluster, processor count and bubble, the release
	FOLIOT_FULL=1 go test -tags full -count=1 -timeout=60m $$(go list work | grep -v /test/conformance)
	FOLIOT_FULL=1 go test -race -count=1 -timeout=60m $(RACE)

.PHONY: conformance
conformance: ## run Go's own tests against the drop-ins ten times, with and without the race detector
	go test -count=1 -timeout=60m ./test/conformance -runs=10

.PHONY: conformance-next
conformance-next: ## the same once with the next Go release, if it can be had
	@if GOTOOLCHAIN=$(NEXT) go version; then \
		GOTOOLCHAIN=$(NEXT) go test -count=1 -timeout=20m ./test/conformance ./internal/aliasgen; \
	else echo 'no $(NEXT) here, skipped'; fi

.PHONY: real-programs
real-programs: ## run the tests of well-known libraries on the drop-ins, up to three quarters of an hour
	go run ./lab/check/real

.PHONY: cover
cover: ## measure the root module's coverage, write coverage.out
	go test -count=1 -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -n 1

.PHONY: fuzz
fuzz: ## run each fuzz target of the root module for FUZZTIME (10s), those of durable, client and serve for a fifth
	sh .ci/fuzz $(FUZZTIME)

.PHONY: stress
stress: ## race tests STRESSCOUNT (20) times on 1, 2 and 8 Ps, then a soak of durable and fuzz for STRESSTIME (5m)
	go test -race -shuffle=on -cpu=1,2,8 -count=$(STRESSCOUNT) -timeout=2h $(filter-out ./lab/% ./durable% ./cmd/%,$(RACE))
	FOLIOT_STRESS=$(STRESSTIME) go test -race -count=1 -timeout=2h -run=Soak ./durable/...
	FOLIOT_STRESS=$(STRESSTIME) go test -count=1 -timeout=2h -run=Window ./durable/...
	sh .ci/fuzz $(STRESSTIME)

.PHONY: crash
crash: ## kill a process with durable timers KILLS (500) times with and without NoSync each, and check the books
	go test -count=1 -v -timeout=2h -run='^TestCrash$$' ./durable/local -kills=$(KILLS)

.PHONY: nemesis
nemesis: ## kill, stop and cut off processes and servers that share durable timers for NEMESIS (10m), and check the books
	NEMESIS=$(NEMESIS) go test -count=1 -v -timeout=0 -run='^TestNemesis$$' ./durable/jetstream

.PHONY: crowd
crowd: ## serve CROWD (10000) listeners beside receivers that misbehave, and check that timers are on time
	FOLIOT_CROWD=$(CROWD) go test -count=1 -v -timeout=10m -run='^TestCrowd$$' ./cmd/internal/serve

.PHONY: image
image: ## build the image of foliot serve with docker, run it and use it
	sh deploy/check-image

.PHONY: bench
bench: ## measure Foliot beside the standard library, about a minute
	go run ./lab/bench

.PHONY: figures
figures: ## measure for 20 minutes, put the figures into README and docs
	go run ./lab/bench -full -o bench.txt
	go run ./lab/bench/figures -svg docs bench.txt README.md docs/benchmarks.md

.PHONY: fmt
fmt: $(TOOLS) ## format every Go file
	$(BIN)/gofumpt -w .

.PHONY: lint
lint: fmt-check mod-check vet staticcheck ## run the four checks below

.PHONY: fmt-check
fmt-check: $(TOOLS) ## fail if a file is not formatted
	@files=$$($(BIN)/gofumpt -l .) || exit 1; \
	if [ -n "$$files" ]; then \
		printf 'not formatted, run make fmt:\n%s\n' "$$files" >&2; exit 1; \
	fi

.PHONY: mod-check
mod-check: ## fail if a go.mod is untidy or not in go.work, or the root module requires anything
	@if grep -n '^[[:space:]]*require' go.mod; then \
		echo 'go.mod: the root module has no dependencies' >&2; exit 1; \
	fi
	@used=$$(go list -m | sort) || exit 1; \
	found=$$(awk '$$1 == "module" { print $$2 }' $(GOMODS) | sort); \
	if [ "$$used" != "$$found" ]; then \
		printf 'go.work uses:\n%s\nthe tree has:\n%s\n' "$$used" "$$found" >&2; exit 1; \
	fi
	@for mod in $(GOMODS); do \
		echo "tidy $$mod"; \
		(cd "$$(dirname "$$mod")" && GOWORK=off go mod tidy -diff) || exit 1; \
	done

.PHONY: vet
vet: ## vet everything for the host, and what is published for each of PLATFORMS
	go vet work
	go vet -tags full ./lab/check/dashboard
	@for p in $(PLATFORMS); do \
		echo "GOOS=$${p%/*} GOARCH=$${p#*/} go vet $(PUBLISHED)"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} go vet $(PUBLISHED) || exit 1; \
	done

.PHONY: staticcheck
staticcheck: $(TOOLS) ## run staticcheck
	$(BIN)/staticcheck work

.PHONY: tools
tools: $(TOOLS) ## install the tools pinned in lab/go.mod into .bin

$(TOOLS): lab/go.mod
	cd lab && GOWORK=off GOBIN="$(CURDIR)/$(BIN)" go install honnef.co/go/tools/cmd/staticcheck mvdan.cc/gofumpt golang.org/x/perf/cmd/benchstat
	@touch $@

.PHONY: ci
ci: ## do what continuous integration does
	bash .ci/run

.PHONY: release
release: ## prepare the release VERSION=v0.1.0 in a fresh clone and say how to push it
	@bash .ci/release '$(VERSION)'
