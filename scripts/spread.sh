#!/usr/bin/env bash
# What it costs to divide a load between shards: medians and ratios of several rounds. "run" needs no Go, so that a quiet
# machine can measure what another one built:
#   bash scripts/spread.sh build FOLDER
#   bash scripts/spread.sh run FOLDER [ROUNDS]
# From eight CPUs on, the server has the upper half of them and the shards the lower half. The machine counts
# instructions where `perf stat` can.
set -euo pipefail
folder=$(mkdir -p "${2:?bash scripts/spread.sh build|run FOLDER}" && cd "$2" && pwd)
case $1 in
build)
  cd "$(dirname "$0")/.."
  export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
  go build -trimpath -o "$folder/mlperf-go" ./cmd/mlperf-go
  go test -c -trimpath -o "$folder/bench.test" ./workload/bench
  ;;
run)
  cd "$folder"
  cpus=$(nproc)
  if [ "$cpus" -ge 8 ]; then
    export SPREAD_BENCH_CPUS=0-$((cpus / 2 - 1))
    taskset -cp $((cpus / 2))-$((cpus - 1)) $$ >/dev/null # for the server, and what starts the shards
  fi
  export SPREAD_BENCH_PROGRAM=$folder/mlperf-go
  for ((i = 0; i < ${3:-5}; i++)); do
    ./bench.test -test.run '^TestSpreadNumbers$' -test.count 1 >round
    grep '^MEASURED spread/\(closed\|open\)' round
  done | awk '
    { n[$2]++; v[$2, n[$2]] = $3 }
    function median(key, i, j, t, list, k) {
      k = n[key]
      for (i = 1; i <= k; i++) list[i] = v[key, i]
      for (i = 2; i <= k; i++) for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
      return list[int((k + 1) / 2)]
    }
    # ratio compares the rounds in pairs, and returns the median of the quotients.
    function ratio(a, b, i) {
      for (i = 1; i <= n[a]; i++) v[a "/" b, i] = v[a, i] / v[b, i]
      n[a "/" b] = n[a]
      return median(a "/" b)
    }
    END {
      split("closed open", loads, " "); split("one loops shards double", layouts, " "); split("|-switches|-instructions", kinds, "|")
      for (l = 1; l <= 2; l++) for (k = 1; k <= 3; k++) {
        one = "spread/" loads[l] "-one" kinds[k]
        if (!(one in n)) continue
        printf "%s%s, median of %d rounds:", loads[l], k == 1 ? ", us of CPU per further request" : kinds[k], n[one]
        for (y = 1; y <= 4; y++) printf " %s %.3f", layouts[y], median("spread/" loads[l] "-" layouts[y] kinds[k])
        s = "spread/" loads[l] "-shards" kinds[k]
        printf "\n  two processes / one with two loops %.3f, / one with one loop %.3f; two with twice the load / one %.3f\n",
          ratio(s, "spread/" loads[l] "-loops" kinds[k]), ratio(s, one), ratio("spread/" loads[l] "-double" kinds[k], one)
      }
    }'
  ;;
*)
  echo "bash scripts/spread.sh build|run FOLDER" >&2
  exit 2
  ;;
esac
