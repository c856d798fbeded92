#!/bin/sh
# Puts the official LoadGen into third_party/loadgen (include/, lib/). Called by `make setup`; quick when nothing changed.
# Sources, first that is set: LOADGEN_ROOT=prefix (installed library), LOADGEN_SRC=dir (a checkout's loadgen folder),
# LOADGEN_SDIST=file (the source package), else the package of loadgen.lock through pip.
# Every path ends in a rename or a link, so an interrupted run leaves the old state or none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
out=$here/loadgen
stamp=$here/loadgen.stamp
key_header=$top/loadgen-cgo/loadgen_build_key.h

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 3; }
lock() { sed -n "s/^$1 //p" "$here/loadgen.lock"; }
sha() { sha256sum "$1" | cut -d' ' -f1; }

# need COMMAND DEBIAN FEDORA: names the package before anything is built.
need() {
  command -v "$1" >/dev/null 2>&1 || fail "'$1' is missing. Install it: Debian/Ubuntu 'apt-get install $2', Fedora 'dnf install $3'."
}

version=$(lock version)
want=$(lock sha256)
sdist_name=mlcommons_loadgen-$version.tar.gz

absolute() { case $1 in /*) printf '%s' "$1" ;; *) printf '%s/%s' "$PWD" "$1" ;; esac }

if [ -n "${LOADGEN_ROOT:-}" ]; then
  root=$(absolute "$LOADGEN_ROOT")
  [ -f "$root/include/loadgen.h" ] || fail "LOADGEN_ROOT=$LOADGEN_ROOT has no include/loadgen.h. Give the prefix of an installed LoadGen."
  [ -f "$root/lib/libmlperf_loadgen.a" ] || fail "LOADGEN_ROOT=$LOADGEN_ROOT has no lib/libmlperf_loadgen.a. Give the prefix of an installed LoadGen."
  source="root $root $(sha "$root/lib/libmlperf_loadgen.a")"
elif [ -n "${LOADGEN_SRC:-}" ]; then
  src=$(absolute "$LOADGEN_SRC")
  [ -f "$src/loadgen.h" ] || fail "LOADGEN_SRC=$LOADGEN_SRC has no loadgen.h. Give the folder 'loadgen' of a checkout of the official repository."
  src_version=$(cat "$src/VERSION.txt" 2>/dev/null || echo unknown)
  [ "$src_version" = "$version" ] || say "warning: LOADGEN_SRC has LoadGen $src_version, and loadgen.lock pins $version"
  source="src $src $(cat "$src"/*.cc "$src"/*.h "$src"/bindings/* "$src"/mlperf.conf "$src"/VERSION.txt 2>/dev/null | sha256sum | cut -d' ' -f1) $(git -C "$src" rev-parse HEAD 2>/dev/null || true)"
elif [ -n "${LOADGEN_SDIST:-}" ]; then
  sdist=$(absolute "$LOADGEN_SDIST")
  [ -f "$sdist" ] || fail "LOADGEN_SDIST=$LOADGEN_SDIST: no such file. Give the path of $sdist_name."
  source="sdist $want"
else
  sdist=$here/$sdist_name
  source="sdist $want"
fi
stamp_now="$source $(cat "$top/CMakeLists.txt" "$here/setup.sh" | sha256sum | cut -d' ' -f1)"

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$stamp_now" ] && [ -f "$out/include/loadgen.h" ] &&
  [ -f "$out/lib/libmlperf_loadgen.a" ] && [ -f "$key_header" ]; then
  exit 0
fi

need sha256sum coreutils coreutils
work=$(mktemp -d "$here/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fetch() {
  need python3 python3 python3
  python3 -m pip --version >/dev/null 2>&1 || fail "python3 has no pip. Install it: Debian/Ubuntu 'apt-get install python3-pip', Fedora 'dnf install python3-pip'.
  Or fetch $sdist_name elsewhere (pip download --no-deps --no-binary mlcommons-loadgen mlcommons-loadgen==$version) and set LOADGEN_SDIST=/path/to/it."
  say "fetching $(lock package) $version (official source package)"
  printf '%s==%s --hash=sha256:%s\n' "$(lock package)" "$version" "$want" >"$work/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary mlcommons-loadgen --require-hashes \
    -r "$work/requirements.txt" -d "$work/dl" >"$work/pip.log" 2>&1 || {
    cat "$work/pip.log" >&2
    fail "the download of $(lock package) $version failed (offline? a hash that differs?). Fetch $sdist_name elsewhere and set LOADGEN_SDIST=/path/to/it."
  }
  mv "$work/dl/$sdist_name" "$here/.$sdist_name.part"
  mv "$here/.$sdist_name.part" "$here/$sdist_name"
}

case $source in
root*)
  rm -rf "$out"
  ln -s "$root" "$out"
  ;;
*)
  need cmake cmake cmake
  command -v c++ >/dev/null 2>&1 || need g++ g++ gcc-c++
  case $source in
  sdist*)
    [ -f "$sdist" ] || fetch
    got=$(sha "$sdist")
    [ "$got" = "$want" ] || fail "$sdist: the checksum is $got, loadgen.lock wants $want. Remove the file to fetch it again, or give the right one."
    need tar tar tar
    need gzip gzip gzip
    tar -xzof "$sdist" -C "$work"
    src=$work/mlcommons_loadgen-$version
    ;;
  esac
  say "building the official LoadGen (once, about 20 s)"
  cmake -S "$top" -B "$work/build" -DLOADGEN_SRC="$src" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$work/prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib >"$work/cmake.log" 2>&1 &&
    cmake --build "$work/build" -j "$(nproc 2>/dev/null || echo 2)" >>"$work/cmake.log" 2>&1 &&
    cmake --install "$work/build" >>"$work/cmake.log" 2>&1 || {
    tail -n 40 "$work/cmake.log" >&2
    fail "LoadGen did not build; the last lines of the compiler stand above."
  }
  rm -rf "$out"
  mv "$work/prefix" "$out"
  ;;
esac

# The go tool does not look into archives outside a package: a changed header whose text is in the object makes it link again.
printf '// Written by third_party/setup.sh: changes when the LoadGen library does.\n#define LG_BUILD_KEY "%s"\n' "$(sha "$out/lib/libmlperf_loadgen.a")" >"$key_header.part"
mv "$key_header.part" "$key_header"
printf '%s' "$stamp_now" >"$stamp.part"
mv "$stamp.part" "$stamp"
say "LoadGen is in third_party/loadgen"
