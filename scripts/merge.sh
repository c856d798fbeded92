#!/usr/bin/env bash
# The merge of many shards' runs: wall time, processor time and memory of the process that merges, the writing of the
# shards left out. "run" needs no Go, so that a machine with many CPUs can measure what another one built:
#   bash scripts/merge.sh build FOLDER
#   bash scripts/merge.sh run FOLDER [SHARDS] [REQUESTS]
# By default 64 shards of a million requests each, which need about 5 GB of disk below FOLDER for two minutes at most.
set -euo pipefail
folder=$(mkdir -p "${2:?bash scripts/merge.sh build|run FOLDER}" && cd "$2" && pwd)
case $1 in
build)
  cd "$(dirname "$0")/.."
  export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
  go test -c -trimpath -ldflags "-s -w" -o "$folder/bench.test" ./workload/bench
  ;;
run)
  cd "$folder"
  rm -rf shards # of a measurement that was ended
  MERGE_BENCH_FOLDER=$folder/shards MERGE_BENCH_SHARDS=${3:-64} MERGE_BENCH_REQUESTS=${4:-1000000} \
    ./bench.test -test.run '^TestMergeNumbers$' -test.count 1
  ;;
*)
  echo "bash scripts/merge.sh build|run FOLDER" >&2
  exit 2
  ;;
esac
