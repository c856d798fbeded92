#!/usr/bin/env bash
# Runs every check of CI after set-up and lint: all tests, the race detector, the build without LoadGen, real runs, a
# real server. It continues after a failing part, and ends with the failed tests and their output, then "N passed, N
# failed, N skipped". Up to a few failed tests run a second time by themselves, because the machine may be busy. Those
# that pass then are listed as FLAKY. CI=true runs every test anew; otherwise cached results of the go tool count.
set -uo pipefail
cd "$(dirname "$0")/.."
# go-nvml's bindings call functions that NVIDIA has deprecated. CGO_CFLAGS reaches dependencies, #cgo lines do not.
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
work=.cache/test
rm -rf "$work"
mkdir -p "$work"
go build -o "$work/testsum" ./scripts/testsum || exit 1
fresh=()
[ "${CI:-}" = true ] && fresh=(-count=1)

# part NAME GO-TEST-ARGUMENT...
part() {
  local name=$1 from=$SECONDS
  shift
  echo "== $name: go test $*"
  go test -json "${fresh[@]}" "$@" 2>&1 | tee "$work/$name.json" | "$work/testsum"
  local codes=("${PIPESTATUS[@]}")
  # The go command may fail without an event, for example because of an unknown flag.
  [ "${codes[0]}" = 0 ] || [ "${codes[2]}" != 0 ] || record "$name" fail "go test ended with ${codes[0]} and named no failed test"
  [ "${codes[2]}" = 0 ] || again "$name" "$@"
  echo "   $((SECONDS - from)) s"
}

# again NAME GO-TEST-ARGUMENT...: runs the failed tests of a part a second time by themselves, if scripts/testsum allows
# it. Those that pass then count as passed and are listed as FLAKY.
again() {
  local name=$1 package test flags=()
  shift
  while [ $# -gt 0 ]; do
    case $1 in
    -skip) shift ;; # the tests are named
    ./*) ;;         # and so are their packages
    *) flags+=("$1") ;;
    esac
    shift
  done
  while read -r package test; do
    echo "   again: $package $test"
    go test -json -count=1 "${flags[@]}" -run "$test" "$package" >>"$work/$name-again.json" 2>&1
  done < <("$work/testsum" -again "$work/$name.json")
}

# record TEST pass|fail [SENTENCE]: an event of this script's own, for the counts.
record() {
  [ -z "${3:-}" ] || printf '{"Action":"output","Package":"scripts/test.sh","Test":"%s","Output":"%s\\n"}\n' "$1" "$3" >>"$work/steps.json"
  printf '{"Action":"%s","Package":"scripts/test.sh","Test":"%s"}\n' "$2" "$1" >>"$work/steps.json"
}

# step NAME COMMAND...: one more test, which passes if the command succeeds, at the second attempt at the latest.
step() {
  local name=$1 from=$SECONDS action=pass
  shift
  echo "== $name: $*"
  if "$@" >"$work/$name.log" 2>&1; then
    record "$name" pass
    grep '^skipped: ' "$work/$name.log" || true
  elif cat "$work/$name.log" && echo "   again" && "$@" >"$work/$name.log" 2>&1; then
    action='pass, FLAKY: the first time it failed, as shown above'
    record "$name" pass
  else
    action=fail
    cat "$work/$name.log"
    record "$name" fail "its output is above"
  fi
  echo "   $action, $((SECONDS - from)) s"
}

# make_run SCENARIO: a rehearsal through make, which must end within four minutes, with an exit code and a record that
# report VALID.
make_run() {
  rm -rf "$work/run-$1"
  timeout 240 make -s run MODEL=llama3.1-8b SCENARIO="$1" OUT="$work/run-$1" ARGS='--json --no-progress' >"$work/run-$1.record" &&
    grep -q '^  "verdict": "VALID"' "$work/run-$1.record" &&
    grep -q '^  "verdict": "VALID"' "$work/run-$1/run.json"
}

part all -timeout 25m ./...
# Not run twice: tests of the C++ side, which have their own sanitizers, of a binary without the detector, and tables.
elsewhere='^(TestSanitizers|TestCgoCheck2AccuracyLog|TestGoldenTables)$'
part race -race -timeout 15m -skip "$elsewhere" ./run/... ./sut/... ./backends/... ./sim/... ./ledger/... ./qsl/... ./loadgen-cgo/...
step build-noloadgen go build -tags noloadgen ./...
step build-nocgo env CGO_ENABLED=0 go build ./...
part noloadgen -tags noloadgen -timeout 10m -skip "$elsewhere" ./loadgen-cgo/... ./backends/... ./models/... ./internal/...
step clock-steps env TEST_CLOCK_STEPS=1 go test -count=1 -run 'TestFaultClockStep|TestClockWatch' ./run ./metrics/hostinfo
# make_submission MODEL: a whole submission as a tiny rehearsal, whose only fault must be that it is too short. Tests
# that a busy machine made invalid are repeated.
make_submission() {
  local out=.cache/rehearsal/$1 args="--rehearsal-size tiny --resume --no-progress"
  rm -rf "$out"
  make -s submission MODEL="$1" OUT="$out" ARGS="$args" && return
  if grep -q 'there is no sandbox here' "$work/submission-$1.log"; then
    echo "skipped: the chain of $1 has programs among its answers, and there is no sandbox here"
    return
  fi
  make -s submission MODEL="$1" OUT="$out" ARGS="$args"
}

# The same 60 tests every time; make chaos draws others.
step chaos make -s chaos RUNS=60 SEED=1
step run-Offline make_run Offline
step run-Server make_run Server
for model in llama3.1-8b llama3.1-8b-edge llama3.1-405b llama2-70b-99 llama2-70b-99.9 mixtral-8x7b deepseek-r1 gpt-oss-120b qwen3-vl-235b-a22b qwen3.6-27b; do
  step "submission-$model" make_submission "$model"
done
step real-llamacpp scripts/test-real.sh llamacpp
step browser make -s test-browser
# A release for both architectures takes three minutes, so only CI builds it each time.
[ "${CI:-}" != true ] || step release make -s test-release
mapfile -t results < <(find "$work" -name '*.json' ! -name '*-again.json' | sort)
"$work/testsum" -total "${results[@]}"
