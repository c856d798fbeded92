#!/bin/sh
# Names a missing tool with the package that brings it, before anything is built.
set -u
missing=0
# need COMMAND DEBIAN FEDORA WHAT-FOR
need() {
  command -v "$1" >/dev/null 2>&1 && return
  printf "setup: '%s' is missing (%s). Install it: Debian/Ubuntu 'apt-get install %s', Fedora 'dnf install %s'.\n" "$1" "$4" "$2" "$3" >&2
  missing=1
}
need go golang golang "the compiler of this project, version 1.26 or later"
need c++ g++ gcc-c++ "compiles LoadGen and the bridge"
need cmake cmake cmake "builds LoadGen"
need make make make "builds LoadGen"
if [ -z "${LOADGEN_ROOT:-}${LOADGEN_SRC:-}${LOADGEN_SDIST:-}" ]; then
  need python3 python3 python3 "fetches LoadGen's source package"
  if command -v python3 >/dev/null 2>&1 && ! python3 -m pip --version >/dev/null 2>&1; then
    printf "setup: python3 has no pip (fetches LoadGen's source package). Install it: Debian/Ubuntu 'apt-get install python3-pip', Fedora 'dnf install python3-pip'.\n" >&2
    missing=1
  fi
fi
[ "$missing" = 0 ] || exit 3
