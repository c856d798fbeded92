#!/usr/bin/env bash
# Tests a release: builds the last commit twice from different folders, and runs scripts/release/release_test.go on the
# files: make test-release. The second build has its own Go cache, and makes only this machine's files. arm64 is omitted
# if its compiler is not installed, which a line "skipped: ..." states.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(go env GOHOSTARCH)
arches=$host
case $host in
amd64) other=arm64 compiler=aarch64-linux-gnu-g++ ;;
*) other=amd64 compiler=x86_64-linux-gnu-g++ ;;
esac
if command -v "$compiler" >/dev/null; then
  arches="$host $other"
else
  echo "skipped: the release for $other, because there is no $compiler (Debian/Ubuntu: apt-get install g++-${compiler%-g++})"
fi
export RELEASE_CACHE=$PWD/.cache/release
LOADGEN_SDIST=$(find "$PWD/third_party" -maxdepth 1 -name '*.tar.gz' | head -n 1)
[ -z "$LOADGEN_SDIST" ] || export LOADGEN_SDIST
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
for folder in one another/folder; do
  git clone --quiet --shared . "$work/$folder"
done
RELEASE_ARCHES=$arches "$work/one/scripts/release.sh"
RELEASE_ARCHES=$host GOCACHE=$work/cache "$work/another/folder/scripts/release.sh"
RELEASE_FILES=$work/one/dist RELEASE_AGAIN=$work/another/folder/dist RELEASE_STUBS=$RELEASE_CACHE \
  go test -count=1 -timeout 10m -v -run '^TestRelease' ./scripts/release
