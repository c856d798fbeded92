#!/usr/bin/env bash
# Prepares three runs with a known limit, and a report of each, to check that a reader of the report finds the limit:
#   bash scripts/causes.sh FOLDER [abc]
# a: the server has fewer sequences than the load needs. b: the client gets the CPU for a fifth of the time. c: one of
# three replicas fails. Needs bin/mlperf-go. Every run ends INVALID, so the exit codes are ignored.
set -euo pipefail
program=$(cd "$(dirname "$0")/.." && pwd)/bin/mlperf-go
mkdir -p "${1:?bash scripts/causes.sh FOLDER}"
cd "$1"
started=()
trap 'for p in "${started[@]}"; do kill "$p" 2>/dev/null || true; done' EXIT
"$program" dataset synth --samples 512 --output data.json --force --quiet

# server NAME FLAGS...: starts a simulator, and writes its URL into NAME.url.
server() {
  local name=$1
  shift
  rm -f "$name.url"
  "$program" sim --dataset data.json --ready-file "$name.url" --quiet "$@" 2>"$name.log" &
  started+=($!)
  for _ in $(seq 200); do
    [ -s "$name.url" ] && return
    sleep 0.05
  done
  echo "causes: the simulator $name did not start: $(cat "$name.log")" >&2
  exit 1
}

# measure NAME URLS QPS FLAGS...: a Server test of eight seconds with its report.
measure() {
  local name=$1 urls=$2 qps=$3
  shift 3
  "$program" run --model llama3.1-8b --scenario Server --target-qps "$qps" --min-queries 1 --min-duration 8s \
    --dataset data.json --endpoint "$urls" --metrics --metrics-interval 250ms --output-dir "$name" --force \
    --no-progress "$@" >"$name.txt" 2>&1 || true
  "$program" report "$name" --quiet
}

only=${2:-abc}
case $only in *a*)
  server small --tpot 4ms --max-num-seqs 6
  measure a "$(cat small.url)" 40
  ;;
esac

case $only in *b*)
  server fast --tpot 1ms
  ( # stops the client of b for four fifths of the time, while it is there
    until pid=$(pgrep -f -- "--output-dir b --force"); do sleep 0.05; done
    sleep 3
    while kill -STOP "$pid" 2>/dev/null; do
      sleep 0.8
      kill -CONT "$pid" 2>/dev/null || break
      sleep 0.2
    done
  ) &
  started+=($!)
  measure b "$(cat fast.url)" 40
  ;;
esac

case $only in *c*)
  server one --tpot 1ms
  server two --tpot 1ms --fault http_500=0.4 --seed 5
  server three --tpot 1ms
  measure c "$(cat one.url),$(cat two.url),$(cat three.url)" 40 --no-preflight-query --retries 0
  ;;
esac
