#!/usr/bin/env bash
# Benchmarks of the hot files, in rounds: every benchmark once a round, so that what is compared ran within the same seconds.
# Prints medians, ratios against references, and the same as JSON (also in .cache/bench/bench.txt). ROUNDS=5 at least.
set -euo pipefail
cd "$(dirname "$0")/.."
# go-nvml's bindings call functions that NVIDIA has marked as old.
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
rounds=${ROUNDS:-5}
[ "$rounds" -ge 5 ] || rounds=5
work=$PWD/.cache/bench
rm -rf "$work"
mkdir -p "$work"
go build -o "$work/benchsum" ./scripts/benchsum
packages=(backends/sse backends/openai internal/ledger qsl)
for p in "${packages[@]}"; do
  go test -c -o "$work/${p//\//-}.test" "./$p"
done
go test -c -o "$work/loadgen-cgo.test" ./loadgen-cgo
for ((i = 1; i <= rounds; i++)); do
  echo "round $i of $rounds" >&2
  for p in "${packages[@]}"; do
    (cd "$p" && "$work/${p//\//-}.test" -test.run '^$' -test.bench . -test.benchtime 100ms) >>"$work/round$i"
  done
done
echo "bridge: against a C++ worker thread, in turns of its own" >&2
(cd loadgen-cgo && "$work/loadgen-cgo.test" -test.run '^(TestBridgeCPUPerQuery|TestScheduleLag)$' -test.v) >>"$work/round$rounds"
echo "HTTP client: against net/http and, where it is installed, wrk" >&2
go test -c -o "$work/http1.test" ./backends/http1
(cd backends/http1 && HTTP1_BENCH=$rounds "$work/http1.test" -test.run '^TestAgainstOthers$' -test.v) >>"$work/round$rounds"
"$work/benchsum" "$work"/round* | tee "$work/bench.txt"
