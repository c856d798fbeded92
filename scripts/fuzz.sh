#!/usr/bin/env bash
# Runs every fuzzer for the given time, in sequence, and ends with a table of them.
#
#   scripts/fuzz.sh [TIME]    TIME per target as in `go test -fuzztime`: 30s, 10m, 1000x; also FUZZTIME. Default 30s.
#   FUZZ=REGEX                only targets whose "folder name" matches, such as FUZZ='backends/internal/wire/sse|FuzzTree'
#
# It continues after a finding and ends with 1. The failing input is written where `go test` looks for it (testdata/fuzz
# of the package). Inputs with new coverage stay in the go command's cache. Output of each target: .cache/fuzz.
set -uo pipefail
cd "$(dirname "$0")/.."
# go-nvml's bindings call functions that NVIDIA has deprecated.
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
time=${1:-${FUZZTIME:-30s}}
minimize=10s # for one input: longer is seldom worth the executions that it costs
work=$PWD/.cache/fuzz
mkdir -p "$work"
table=$work/table
: >"$table"
failed=0

# seconds DURATION: a duration of the go command in whole seconds, none for a count of executions.
seconds() {
  local rest=$1 sum=0
  while [[ $rest =~ ^([0-9]+)(\.[0-9]+)?(h|m|s)(.*)$ ]]; do
    case ${BASH_REMATCH[3]} in
    h) sum=$((sum + BASH_REMATCH[1] * 3600)) ;;
    m) sum=$((sum + BASH_REMATCH[1] * 60)) ;;
    s) sum=$((sum + BASH_REMATCH[1])) ;;
    esac
    rest=${BASH_REMATCH[4]}
  done
  [ -n "$rest" ] || echo "$sum"
}

# row TARGET EXECUTIONS NEW SECONDS VERDICT
row() { printf '%-58s %12s %12s %8s  %s\n' "$@"; }

# fuzz DIR NAME BINARY
fuzz() {
  local dir=$1 name=$2 binary=$3 log from=$SECONDS code last verdict=ok limit=()
  log=$work/$(tr / _ <<<"$dir")-$name.log
  # Starting, the corpus and minimizing take time beyond TIME. A target that takes ten minutes more hangs.
  [ -z "$(seconds "$time")" ] || limit=(timeout -k 30 $(($(seconds "$time") + 600)))
  echo "== $dir $name"
  (cd "$dir" && "${limit[@]}" "$binary" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" -test.fuzzminimizetime "$minimize" \
    -test.fuzzcachedir "$(go env GOCACHE)/fuzz/$(go list .)") >"$log" 2>&1
  code=$?
  last=$(grep '^fuzz: elapsed: ' "$log" | tail -1)
  local executions new
  executions=$(sed -nE 's/.* execs: ([0-9]+).*/\1/p' <<<"$last")
  new=$(sed -nE 's/.* new interesting: ([0-9]+).*/\1/p' <<<"$last")
  case $code in
  0) [ "${executions:-0}" -gt 0 ] || verdict="FAIL: nothing was executed" ;;
  124 | 137) verdict="FAIL: hangs" ;;
  *) verdict="FAIL: $(grep -oE 'testdata/fuzz/[^ ]+' "$log" | head -1)" ;;
  esac
  if [ "$verdict" != ok ]; then
    failed=1
    cat "$log"
    verdict="$verdict ($log)"
  fi
  row "$dir $name" "${executions:-0}" "${new:-0}" $((SECONDS - from)) "$verdict" | tee -a "$table"
}

while read -r dir; do
  binary=$work/$(tr / _ <<<"$dir").test
  built=
  while read -r name; do
    [[ "$dir $name" =~ ${FUZZ:-} ]] || continue
    if [ -z "$built" ]; then
      # One binary with the instrumentation serves every target of its package.
      if ! go test -c -fuzz . -o "$binary" "./$dir" >"$binary.log" 2>&1; then
        cat "$binary.log"
        row "$dir" 0 0 0 "FAIL: does not build" | tee -a "$table"
        failed=1
        break
      fi
      built=1
    fi
    fuzz "$dir" "$name" "$binary"
  done < <(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //' | sort -u)
  rm -f "$binary"
done < <(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -rn1 dirname | sed 's|^\./||' | sort -u)

[ -s "$table" ] || {
  echo "no fuzz target matches FUZZ='${FUZZ:-}'; the targets are those of: grep -rE '^func Fuzz' --include='*_test.go' ." >&2
  exit 2
}
echo
row "target ($time each)" executions "new inputs" seconds verdict
cat "$table"
exit $failed
