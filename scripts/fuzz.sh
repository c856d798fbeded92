#!/usr/bin/env bash
# Runs every fuzzer for the time given, one after the other, and ends at the first finding.
set -euo pipefail
cd "$(dirname "$0")/.."
# go-nvml's bindings call functions that NVIDIA has marked as old.
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
time=${1:-30s}
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
  grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //' | while read -r name; do
    echo "== $dir $name"
    go test "$dir" -run '^$' -fuzz "^$name\$" -fuzztime "$time"
  done
done
