#!/bin/sh
# Builds the bridge's C++ side, LoadGen's sources and testdata/sanitize_main.cc with sanitizers and runs the result.
#   sanitize.sh SOURCE_PACKAGE [address|thread ...]
# SOURCE_PACKAGE is mlcommons_loadgen-*.tar.gz or its unpacked folder. Exits 0 when no sanitizer found anything. One run may take
# SANITIZE_LIMIT seconds; it takes under 10, and many times that on a busy machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
package=${1:?usage: sanitize.sh SOURCE_PACKAGE [address|thread ...]}
shift
[ $# -gt 0 ] || set -- address thread
limit=${SANITIZE_LIMIT:-120}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -d "$package" ]; then
  src=$package
else
  tar -xzof "$package" -C "$work"
  src=$(dirname "$(find "$work" -name loadgen.h | head -n 1)")
fi
units="early_stopping issue_query_controller loadgen logging results test_settings_internal utils version generated/version_generated"

# One compile per unit, two at a time.
build() {
  flags="-std=c++17 -O1 -g -fno-omit-frame-pointer -I$src -I$src/generated $2"
  mkdir -p "$work/$1"
  {
    for unit in $units; do echo "$src/$unit.cc"; done
    echo "$here/bridge.cc"
    echo "$here/testdata/sanitize_main.cc"
  } | xargs -P 2 -I FILE sh -c "g++ $flags -c FILE -o $work/$1/\$(basename FILE .cc).o"
  g++ $2 "$work/$1"/*.o -lpthread -o "$work/$1/driver"
}

# run LIMIT KIND SCENARIO [unanswered]: one run of a driver, which may take LIMIT seconds. Then its threads print their stacks.
run() {
  code=0
  mkdir -p "$work/out"
  LSAN_OPTIONS="suppressions=$here/testdata/lsan.supp" TSAN_OPTIONS="suppressions=$here/testdata/tsan.supp report_signal_unsafe=0" \
    timeout --signal=USR1 --kill-after=60 "$1" "$work/$2/driver" "$3" "$work/out" ${4:-} || code=$?
  case $code in
  0) ;;
  124 | 137) echo "sanitize.sh: the $2 driver of $3 did not end within $1 s; the stacks of its threads are above" >&2 ;;
  *) echo "sanitize.sh: the $2 driver of $3 exited with $code" >&2 ;;
  esac
  return "$code"
}

for kind; do
  case $kind in
  address) build address "-fsanitize=address,undefined -fno-sanitize-recover=undefined" ;;
  thread) build thread "-fsanitize=thread" ;;
  *) echo "sanitize.sh: no sanitizer '$kind': address or thread" >&2; exit 2 ;;
  esac
  for scenario in SingleStream Server Offline; do
    echo "== $kind, $scenario"
    run "$limit" "$kind" "$scenario"
    # Another run may hang then (testdata/sanitize_main.cc, kQueries).
    if grep "Logging allocation detected" "$work/out/mlperf_log_detail.txt"; then
      echo "sanitize.sh: a thread of the $kind driver of $scenario logged more than LoadGen reserves" >&2
      exit 1
    fi
  done
  echo "== $kind, a driver that hangs"
  if run 5 "$kind" Offline unanswered >"$work/hang" 2>&1 || ! grep -q "did not end within 5 s" "$work/hang" ||
    ! grep "in mlperf::StartTest\|[0-9] mlperf::StartTest" "$work/hang"; then
    cat "$work/hang"
    echo "sanitize.sh: a $kind driver that hangs ended, or did not print where" >&2
    exit 1
  fi
done
