#!/usr/bin/env bash
# Creates the folder DIR for linking programs with glibc 2.28: scripts/release/glibc/stubs.sh amd64|arm64 DIR
# It contains the linker's inputs of that version: its start file, and libraries with its symbols and no code. They come
# from the Python package ziglang (requirements.txt), which is installed beside DIR.
set -euo pipefail
cd "$(dirname "$0")/../../.."
pinned=scripts/release/requirements.txt
case $1 in
amd64) target=x86_64-linux-gnu.2.28 ;;
arm64) target=aarch64-linux-gnu.2.28 ;;
*)
  echo "release: no architecture '$1'; choose amd64 or arm64" >&2
  exit 2
  ;;
esac
out=$2
mkdir -p "$out"
out=$(cd "$out" && pwd)
stamp=$(cat "$pinned" "$0" | sha256sum)
[ "$(cat "$out/.stamp" 2>/dev/null)" != "$stamp" ] || exit 0

venv=$(dirname "$out")/zig
if ! cmp -s "$pinned" "$venv/installed.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r "$pinned"
  cp "$pinned" "$venv/installed.txt"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int main(void) { return 0; }' >"$work/empty.c"
# Zig creates the libraries in its cache when it links a program with them.
ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache "$venv/bin/python" -m ziglang cc -target "$target" \
  -fno-sanitize=all "$work/empty.c" -o "$work/empty" -lpthread -ldl -lm -lresolv -lrt
rm -rf "$out"
mkdir -p "$out"
find "$work/cache/o" \( -name crt1.o -o -name 'lib*.so.*' -o -name libc_nonshared.a \) -exec cp {} "$out" \;
cd "$out"
for file in lib*.so.*; do
  ln -s "$file" "${file%.so.*}.so"
done
rm libc.so
echo 'GROUP(libc.so.6 libc_nonshared.a AS_NEEDED(libld.so.2))' >libc.so
echo "$stamp" >.stamp
