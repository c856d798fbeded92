#!/usr/bin/env bash
# What it costs to divide a load between shards: medians and ratios of several rounds. "run" needs no Go, so that a quiet
# machine can measure what another one built:
#   bash scripts/spread.sh build FOLDER
#   bash scripts/spread.sh run FOLDER [ROUNDS] [LOADS]
#   bash scripts/spread.sh core FOLDER [ROUNDS] [LOADS]
# LOADS are some of "saturated closed open" (default: all). A round of each takes about 10 s. From eight CPUs on, the
# shards have one CPU of each core in the lower half, and four simulators have the other cores. "core" puts all processes
# of the load on one CPU, and the simulator on the other cores: the price of dividing without that of two busy cores. The
# machine counts instructions where `perf stat` can.
set -euo pipefail
folder=$(mkdir -p "${2:?bash scripts/spread.sh build|run|core FOLDER}" && cd "$2" && pwd)

# cores prints one line for each core that this process may use: its CPUs, separated by commas.
cores() {
  local cpu list
  for cpu in $(taskset -cp $$ | sed 's/.*: //; s/,/ /g' | tr ' ' '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }'); do
    list=$(cat "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list" 2>/dev/null || echo "$cpu")
    echo "$list" | tr ',' '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) printf "%s%s", n++ ? "," : "", i } END { print "" }'
  done | sort -t, -k1,1n -u
}

case $1 in
build)
  cd "$(dirname "$0")/.."
  export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
  go build -trimpath -ldflags "-s -w" -o "$folder/mlperf-go" ./cmd/mlperf-go
  go test -c -trimpath -ldflags "-s -w" -o "$folder/bench.test" ./workload/bench
  ;;
run | core)
  cd "$folder"
  mapfile -t core < <(cores)
  if [ "$1" = core ]; then
    [ ${#core[@]} -ge 2 ] || { echo "spread.sh: core needs two cores" >&2; exit 1; }
    export SPREAD_BENCH_CPUS=${core[0]%%,*}
    servers=$(printf '%s\n' "${core[@]:1}" | paste -sd,)
    echo "shards on the CPU $SPREAD_BENCH_CPUS, simulator on $servers"
    taskset -cp "$servers" $$ >/dev/null
  elif [ "$(nproc)" -ge 8 ]; then
    half=$((${#core[@]} / 2))
    SPREAD_BENCH_CPUS=$(printf '%s\n' "${core[@]:0:half}" | cut -d, -f1 | paste -sd,)
    servers=$(printf '%s\n' "${core[@]:half}" | paste -sd,)
    export SPREAD_BENCH_CPUS SPREAD_BENCH_SERVERS=4
    echo "shards on the CPUs $SPREAD_BENCH_CPUS, simulators on $servers"
    taskset -cp "$servers" $$ >/dev/null # what starts the shards is there too
  fi
  export SPREAD_BENCH_PROGRAM=$folder/mlperf-go SPREAD_BENCH_LOADS=${4:-}
  for ((i = 0; i < ${3:-5}; i++)); do
    ./bench.test -test.run '^TestSpreadNumbers$' -test.count 1 >round
    grep '^MEASURED spread/' round
  done | awk '
    { n[$2]++; v[$2, n[$2]] = $3 }
    function median(key, i, j, t, list, k) {
      k = n[key]
      for (i = 1; i <= k; i++) list[i] = v[key, i]
      for (i = 2; i <= k; i++) for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
      return list[int((k + 1) / 2)]
    }
    # ratio compares the rounds one by one, and prints the median of the quotients.
    function ratio(text, a, b, i) {
      if (!(a in n) || !(b in n)) return
      for (i = 1; i <= n[a]; i++) v[a "/" b, i] = v[a, i] / v[b, i]
      n[a "/" b] = n[a]
      printf "  %s %.3f\n", text, median(a "/" b)
    }
    END {
      split("saturated closed open", loads, " "); split("one loops shards apart double", layouts, " ")
      split("|-busy|-rate|-switches|-instructions", kinds, "|")
      split(", us of CPU per further request|, CPUs per loop|, requests/s|, switches per request|, instructions per request", texts, "|")
      for (l = 1; l <= 3; l++) for (k = 1; k <= 5; k++) {
        row = "spread/" loads[l]
        if (!((row "-one" kinds[k]) in n)) continue
        printf "%s%s, median of %d rounds:", loads[l], texts[k], n[row "-one" kinds[k]]
        for (y = 1; y <= 5; y++) if ((row "-" layouts[y] kinds[k]) in n) printf " %s %.6g", layouts[y], median(row "-" layouts[y] kinds[k])
        print ""
        if (k == 2) continue
        ratio("two processes / one with two loops", row "-shards" kinds[k], row "-loops" kinds[k])
        ratio("two processes / two loads apart", row "-shards" kinds[k], row "-apart" kinds[k])
        ratio("two loads apart / one", row "-apart" kinds[k], row "-one" kinds[k])
        ratio("two processes / one with one loop", row "-shards" kinds[k], row "-one" kinds[k])
        ratio("two processes with twice the load / one", row "-double" kinds[k], row "-one" kinds[k])
      }
      if ("spread/start-beyond-bound" in n) printf "starts beyond their bound: %.3f ms\n", median("spread/start-beyond-bound")
    }'
  ;;
*)
  echo "bash scripts/spread.sh build|run|core FOLDER" >&2
  exit 2
  ;;
esac
