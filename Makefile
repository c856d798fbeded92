# Every target does what it needs first. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := build
BIN := bin/mlperf-go
# go-nvml's bindings call functions that NVIDIA has marked as old.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations
VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)

# What a run takes; see README.
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

.PHONY: help build setup run submission test test-real chaos bench mutate lint fuzz clean tools-check

help:
	@sed -n 's/^## //p' Makefile

## make build        set-up if needed, then bin/mlperf-go
build: setup
	@[ -e $(BIN) ] || echo "build: compiling $(BIN) (the first time a minute or two; the modules that it needs are fetched)"
	@go build -trimpath -ldflags "-X github.com/mlperf-go/mlperf-go/run/record.version=$(VERSION)" -o $(BIN) ./cmd/mlperf-go

## make setup        the official LoadGen into third_party/loadgen (LOADGEN_SDIST=, LOADGEN_SRC=, LOADGEN_ROOT=)
setup: tools-check
	@sh third_party/setup.sh

tools-check:
	@sh third_party/check-tools.sh

flag = $(if $($(1)),--$(2) '$($(1))')

## make run          one test: MODEL= [SCENARIO=] [MODE=] [ENDPOINT=] [DATASET=] [OUT=] [ARGS='more flags']
run: build
	@$(BIN) run --model '$(MODEL)' --mode '$(MODE)' $(call flag,SCENARIO,scenario) $(call flag,ENDPOINT,endpoint) \
	  $(call flag,DATASET,dataset) $(call flag,OUT,output-dir) $(ARGS)

## make submission   every test of MODEL's scenarios, to a checked tree: [ENDPOINT=] [DATASET=] [SYSTEM=] [SUBMITTER=] [OUT=] [ARGS=]
submission: build
	@$(BIN) submission --model '$(MODEL)' $(call flag,ENDPOINT,endpoint) $(call flag,DATASET,dataset) \
	  $(call flag,SYSTEM,system) $(call flag,SUBMITTER,submitter) $(call flag,OUT,output-dir) $(ARGS)

## make test         everything that CI checks
test: setup lint
	@bash scripts/test.sh

## make test-real    a real llama.cpp server, from its package, driven through run; CI does it too
SERVER ?= llamacpp
test-real: setup
	@bash scripts/test-real.sh '$(SERVER)' -v

## make chaos        RUNS=1000 tests against servers with random faults, judged by what the servers did: [SEED=N] [JOBS=N]
RUNS ?= 1000
SEED ?=
JOBS ?=
chaos: build
	@go run ./scripts/chaos -runs '$(RUNS)' $(if $(SEED),-seed '$(SEED)') $(if $(JOBS),-j '$(JOBS)')

## make bench        ratios against reference clients
bench: build
	@bash scripts/bench.sh

## make mutate       changes PACKAGE's code in N places by SEED; lists the changes that no test notices [TESTS='./other ...'] [TEST=REGEX]
PACKAGE ?=
N ?= 20
TESTS ?=
TEST ?=
mutate: setup
	@go run ./scripts/mutate -n '$(N)' -seed '$(or $(SEED),1)' -tests '$(TESTS)' -run '$(TEST)' $(PACKAGE)

## make lint         gofmt, go vet, staticcheck, clang-format
lint: setup
	@bash scripts/lint.sh

## make fuzz         every fuzzer for FUZZTIME, or those that FUZZ=REGEX matches, and a table of them
fuzz: setup
	@FUZZ='$(FUZZ)' bash scripts/fuzz.sh '$(FUZZTIME)'

## make clean        what was built here; third_party/loadgen stays (make clean LOADGEN=1 removes it)
clean:
	@rm -rf bin .cache
	@if [ -n "$(LOADGEN)" ]; then rm -rf third_party/loadgen third_party/loadgen.stamp third_party/*.tar.gz loadgen-cgo/loadgen_build_key.h; fi
