# Each target builds what it needs first. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := build
BIN := bin/mlperf-go
# go-nvml's bindings call functions that NVIDIA deprecated.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations
VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)

# Variables of run and submission; README explains them.
MODEL ?= llama3.1-8b
SCENARIO ?=
MODE ?= performance
ENDPOINT ?=
DATASET ?=
SYSTEM ?=
SUBMITTER ?=
OUT ?=
ARGS ?=
FUZZTIME ?= 30s
FUZZ ?=

.PHONY: help build setup run submission test test-real test-browser screenshots kube test-kube otlp test-otlp test-mlflow nvtx test-nvtx release test-release chaos bench mutate lint fuzz clean tools-check

# A variable or target that nothing reads is an error: a misspelled ENDPOINT would measure the simulator.
given := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $v))),$v))
unknown := $(shell awk -v goals='$(subst ','\'',$(MAKECMDGOALS))' -v given='$(subst ','\'',$(given))' -f scripts/check-make.awk Makefile)
ifneq ($(unknown),)
$(error $(unknown))
endif

help:
	@sed -n 's/^## //p' Makefile

## make help         print this list
## make build        LoadGen if needed, then bin/mlperf-go
build: setup
	@[ -e $(BIN) ] || echo "build: compiling $(BIN) (the first time a minute or two; the modules that it needs are fetched)"
	@go build -trimpath -ldflags "-X github.com/mlperf-go/mlperf-go/run/record.version=$(VERSION)" -o $(BIN) ./cmd/mlperf-go

## make setup        build the official LoadGen into third_party/loadgen: [LOADGEN_SDIST=] [LOADGEN_SRC=] [LOADGEN_ROOT=]
setup: tools-check
	@sh third_party/setup.sh

tools-check:
	@sh third_party/check-tools.sh

flag = $(if $($(1)),--$(2) '$($(1))')

## make run          run one test: MODEL= [SCENARIO=] [MODE=] [ENDPOINT=] [DATASET=] [OUT=] [ARGS='more flags']
run: build
	@$(BIN) run --model '$(MODEL)' --mode '$(MODE)' $(call flag,SCENARIO,scenario) $(call flag,ENDPOINT,endpoint) \
	  $(call flag,DATASET,dataset) $(call flag,OUT,output-dir) $(ARGS)

## make submission   run every test of a model, build and check its tree: MODEL= [ENDPOINT=] [DATASET=] [SYSTEM=] [SUBMITTER=] [OUT=] [ARGS=]
submission: build
	@$(BIN) submission --model '$(MODEL)' $(call flag,ENDPOINT,endpoint) $(call flag,DATASET,dataset) \
	  $(if $(ENDPOINT),--tune) \
	  $(call flag,SYSTEM,system) $(call flag,SUBMITTER,submitter) $(call flag,OUT,output-dir) $(ARGS)

## make test         run everything that CI runs
test: setup lint
	@bash scripts/test.sh

## make test-real    run tests against a real server, installed from its package: [SERVER=llamacpp|vllm|sglang] [REAL_HOME=]
SERVER ?= llamacpp
test-real: setup
	@bash scripts/test-real.sh '$(SERVER)' -v

## make test-browser test the HTML pages and their scripts in headless Chromium: [CHROMIUM=]
test-browser: build
	@bash scripts/test-browser.sh

## make screenshots  make the pictures of docs/images from a rehearsal: [CHROMIUM=]
screenshots: build
	@bash scripts/screenshots.sh

## make kube         build bin/mlperf-go-kube, the launcher for Kubernetes
kube:
	@cd kube && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o ../bin/mlperf-go-kube ./cmd/mlperf-go-kube

## make test-kube    test the launcher against a real control plane, which the first call builds (minutes)
test-kube: build
	@bash scripts/test-kube.sh

## make otlp         build bin/mlperf-go-otlp, which sends runs to an OpenTelemetry collector
otlp:
	@cd otlp && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o ../bin/mlperf-go-otlp ./cmd/mlperf-go-otlp

## make test-otlp    test metrics upload --otlp against a receiver of OTLP
test-otlp: build otlp
	@cd otlp && CGO_ENABLED=0 go vet ./... && OTLP_TEST_PROGRAM=$(CURDIR)/$(BIN) go test -count=1 -timeout 5m ./...

## make test-mlflow  test metrics upload against a real MLflow server, installed from its package (900 MB)
test-mlflow: setup
	@bash scripts/test-mlflow.sh

## make nvtx         build bin/mlperf-go-nvtx, which marks the parts of each request for NVIDIA's Nsight
nvtx: setup
	@go build -trimpath -tags nvtx -ldflags "-X github.com/mlperf-go/mlperf-go/run/record.version=$(VERSION)" -o $(BIN)-nvtx ./cmd/mlperf-go

## make test-nvtx    test that program with NVIDIA's library, installed from its package (0.4 MB)
test-nvtx: build nvtx
	@bash scripts/test-nvtx.sh

## make chaos        run RUNS=1000 tests against servers with random faults, and judge each by the servers' logs: [SEED=N] [JOBS=N]
RUNS ?= 1000
SEED ?=
JOBS ?=
chaos: build
	@go run ./scripts/chaos -runs '$(RUNS)' $(if $(SEED),-seed '$(SEED)') $(if $(JOBS),-j '$(JOBS)')
	@go run ./scripts/chaos/workloads -runs '$(RUNS)' -share 5 $(if $(SEED),-seed '$(SEED)') $(if $(JOBS),-j '$(JOBS)')

## make bench        measure the hot path against wrk, net/http and encoding/json: [BENCH_ROUNDS=5]
bench: build
	@bash scripts/bench.sh

## make mutate       change PACKAGE= in N=20 places, and list the changes that no test notices: [SEED=1] [TESTS='./other ...'] [TEST=REGEX] [SHORT=1] [SKIP=REGEX] [MEMORY=MiB]
PACKAGE ?=
N ?= 20
TESTS ?=
TEST ?=
mutate: setup
	@go run ./scripts/mutate -n '$(N)' -seed '$(or $(SEED),1)' -tests '$(TESTS)' -run '$(TEST)' $(if $(SHORT),-short) $(if $(MEMORY),-memory '$(MEMORY)') -skip '$(SKIP)' $(PACKAGE)

## make lint         run gofmt, go vet, staticcheck, misspell, clang-format
lint: setup
	@bash scripts/lint.sh

## make release      build the release files and the image of the last commit into dist/: [VERSION=] [RELEASE_ARCHES='amd64 arm64']
release:
	@bash scripts/release.sh

## make test-release build a release twice, and test its files, the arm64 program and the image
test-release: setup
	@bash scripts/test-release.sh

## make fuzz         run every fuzzer for FUZZTIME=30s, or those that FUZZ=REGEX matches, and print a table
fuzz: setup
	@FUZZ='$(FUZZ)' bash scripts/fuzz.sh '$(FUZZTIME)'

## make clean        remove what was built, except third_party/loadgen (LOADGEN=1 removes it too)
clean:
	@rm -rf bin .cache
	@if [ -n "$(LOADGEN)" ]; then rm -rf third_party/loadgen third_party/loadgen.stamp third_party/*.tar.gz loadgen-cgo/loadgen_build_key.h; fi
