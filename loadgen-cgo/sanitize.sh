#!/bin/sh
# Builds the bridge's C++ side, LoadGen's sources and testdata/sanitize_main.cc with sanitizers and runs the result.
#   sanitize.sh SOURCE_PACKAGE [address|thread ...]
# SOURCE_PACKAGE is mlcommons_loadgen-*.tar.gz or its unpacked folder. Exits 0 when no sanitizer found anything.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
package=${1:?usage: sanitize.sh SOURCE_PACKAGE [address|thread ...]}
shift
[ $# -gt 0 ] || set -- address thread
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

for kind; do
  case $kind in
  address) build address "-fsanitize=address,undefined -fno-sanitize-recover=undefined" ;;
  thread) build thread "-fsanitize=thread" ;;
  *) echo "sanitize.sh: no sanitizer '$kind': address or thread" >&2; exit 2 ;;
  esac
  for scenario in SingleStream Server Offline; do
    mkdir -p "$work/out"
    echo "== $kind, $scenario"
    LSAN_OPTIONS="suppressions=$here/testdata/lsan.supp" TSAN_OPTIONS="suppressions=$here/testdata/tsan.supp" \
      "$work/$kind/driver" "$scenario" "$work/out"
  done
done
