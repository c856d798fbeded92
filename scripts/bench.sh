#!/usr/bin/env bash
# Compares the figures of the hot path with references, floors and goals: one table, and .cache/bench/bench.json. Each
# round measures all candidates in turn. BENCH_ROUNDS=5; fewer only for a quick look. BENCH_PARTS selects among "micro
# bridge datasets client tune workload spread spans many" (default: all), HTTP1_BENCH_ONLY among the loads and clients of client (a
# regular expression for row/kind).
set -euo pipefail
cd "$(dirname "$0")/.."
# go-nvml's bindings call functions that NVIDIA has deprecated.
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
rounds=${BENCH_ROUNDS:-5}
parts=${BENCH_PARTS:-micro bridge datasets client tune workload spread spans many}
work=$PWD/.cache/bench
rm -rf "$work"
mkdir -p "$work"
go build -o "$work/benchsum" ./scripts/benchsum

# in_package PACKAGE TEST-BINARY-ARGUMENT...: built once, run in the package's folder.
in_package() {
  local package=$1 binary=$work/${1//\//-}.test
  shift
  [ -x "$binary" ] || go test -c -o "$binary" "./$package"
  (cd "$package" && "$binary" "$@")
}

micro() {
  for p in backends/internal/wire/sse backends/openai ledger qsl; do
    in_package "$p" -test.run '^$' -test.bench . -test.benchtime 100ms
  done
}

bridge() {
  BRIDGE_BENCH=1 in_package loadgen-cgo -test.run '^(TestBridgeCPUPerQuery|TestScheduleLag)$' -test.count 1
}

datasets() {
  DATASETS_BENCH=1 in_package datasets -test.run '^TestBigSets$' -test.count 1
}

tune() {
  TUNE_BENCH=4 in_package tune -test.run '^TestVirtualTunes$' -test.count 1
  TUNE_REAL=2 in_package cmd/mlperf-go -test.run '^TestRealTunes$' -test.count 1
}

workload() {
  WORKLOAD_BENCH_PROGRAM=$work/mlperf-go in_package workload/calibrate -test.run '^TestSendTimes$' -test.count 1
}

spread() {
  SPREAD_BENCH_PROGRAM=$work/mlperf-go in_package workload/bench -test.run '^(TestSpreadNumbers|TestMergeNumbers)$' -test.count 1
  PARCEL_BENCH=1 in_package internal/parcel -test.run '^TestThroughput$' -test.count 1
}

spans() {
  SPANS_BENCH=1 in_package cmd/mlperf-go -test.run '^TestCostOfSpans$' -test.count 1
}

# many takes more than a minute, and its figure hardly varies: the first round is enough.
many() {
  [ "$i" -gt 1 ] || MEASURE_BENCH=1 in_package workload/measure -test.run '^TestTenMillionRequests$' -test.count 1
}

client() {
  # Twice, in opposite order: the machine may change between the first and the last measurement.
  HTTP1_BENCH=2 HTTP1_BENCH_PROGRAM=$work/mlperf-go in_package backends/internal/http1 -test.run '^(TestAgainstOthers|TestNoAllocations|TestManyStreams|TestManyStreamsOverTLS|TestEndOfAServerTest)$' -test.count 1
}

# References from Debian. Without them their rows are omitted.
if ! { command -v wrk && command -v nginx; } >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get install -qy wrk nginx-light || { apt-get update -q && apt-get install -qy wrk nginx-light; }; } >"$work/apt" 2>&1 || true
fi
command -v wrk >/dev/null || echo "wrk is not installed: the rows against it are left out (Debian: apt-get install wrk)" >&2
case $parts in *client* | *workload* | *spread*) go build -o "$work/mlperf-go" ./cmd/mlperf-go ;; esac
for ((i = 1; i <= rounds; i++)); do
  echo "round $i of $rounds" >&2
  for part in $parts; do
    "$part" >"$work/part" || {
      cat "$work/part" >&2
      exit 1
    }
    cat "$work/part" >>"$work/round$i"
  done
done
"$work/benchsum" -json "$work/bench.json" "$work"/round*
