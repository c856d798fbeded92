#!/usr/bin/env bash
# Builds the release files of the last commit into dist/: make release, or scripts/release.sh
#   RELEASE_ARCHES='amd64 arm64'   for which machines
#   RELEASE_DIR=dist               where the files go
#   RELEASE_CACHE=.cache/release   where the tools are kept that it installs
#   VERSION=v1.2.3                 instead of the tag or the commit
#   RELEASE_ROOTFS=/rootfs         where the files of the image go too, for Dockerfile (one architecture)
# docs/how-to/release.md describes the files. The compiler is the distribution's g++, for LoadGen's random numbers and
# clock are those of libstdc++; the program is linked for glibc 2.28 (scripts/release/glibc).
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
umask 022
arches=${RELEASE_ARCHES:-amd64 arm64}
dist=${RELEASE_DIR:-dist}
cache=${RELEASE_CACHE:-$PWD/.cache/release}
version=${VERSION:-$(git describe --tags --always --match 'v[0-9]*')}
epoch=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH=$epoch

say() { printf 'release: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 3
}
sh third_party/check-tools.sh
[ -z "$(git status --porcelain)" ] || say "uncommitted changes are not part of the release, which is made from the last commit"

# cross ARCH: the prefix of the compiler's commands, nothing for this machine's own.
host=$(go env GOHOSTARCH)
cross() {
  case $1 in
  "$host") ;;
  amd64) echo x86_64-linux-gnu- ;;
  arm64) echo aarch64-linux-gnu- ;;
  *)
    say "no architecture '$1'; RELEASE_ARCHES accepts amd64 and arm64"
    exit 2
    ;;
  esac
}
for arch in $arches; do
  prefix=$(cross "$arch")
  package=${prefix:+g++-${prefix%-}}
  command -v "${prefix}g++" >/dev/null ||
    fail "'${prefix}g++' is missing (compiles for $arch). Install it: Debian/Ubuntu 'apt-get install ${package//_/-}'."
done

mkdir -p "$cache" .cache
work=$(mktemp -d "$PWD/.cache/release.XXXXXX")
trap 'rm -rf "$work"' EXIT
src=$work/src
mkdir -p "$src" "$work/files"
git archive HEAD | tar -x -C "$src"
export GOFLAGS='-trimpath -buildvcs=false'
(cd "$src" && CGO_ENABLED=0 go build -o "$work/tool" ./scripts/release)
(cd "$src" && CGO_ENABLED=0 go build -modfile=tools/go.mod -o "$work/cyclonedx-gomod" github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod)
"$work/tool" changelog "$version" >"$work/files/CHANGELOG.md"
# An archive of the same files has the same bytes.
pack() { tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" --format=ustar -cf - "$@"; }

for arch in $arches; do
  say "building mlperf-go $version for linux/$arch"
  prefix=$(cross "$arch")
  stubs=$cache/glibc-$arch
  scripts/release/glibc/stubs.sh "$arch" "$stubs"
  name=mlperf-go-$version-linux-$arch
  out=$work/$name
  mkdir -p "$out"
  (
    export CC=${prefix}gcc CXX=${prefix}g++ CGO_ENABLED=1 GOOS=linux GOARCH=$arch CGO_CFLAGS='-O2 -Wno-deprecated-declarations'
    # LoadGen's sources are fetched at most once, and built for each architecture.
    sdist=$(find "$PWD/third_party" "$src/third_party" -maxdepth 1 -name '*.tar.gz' | head -n 1)
    export LOADGEN_SDIST=${LOADGEN_SDIST:-$sdist}
    cd "$src"
    rm -rf third_party/loadgen third_party/loadgen.stamp
    sh third_party/setup.sh
    "$CC" -O2 -Wall -Wextra -Werror -c scripts/release/glibc/compat.c -o "$work/compat.o"
    # Code off the hot path is not inlined: 0.8 MB less. Packages after it keep the compiler's defaults.
    lean=(-gcflags=all=-l -gcflags=std= "-gcflags=github.com/klauspost/...=")
    for package in loadgen-cgo sut qsl backends/... ledger internal/schedule run internal/quote workload/engine workload/eventlog sim; do
      lean+=("-gcflags=github.com/mlperf-go/mlperf-go/$package=")
    done
    # Packages of the standard library that no request of the event loop uses.
    for package in html/... text/... regexp/... encoding/xml encoding/csv encoding/asn1 encoding/hex encoding/base64 encoding/pem \
      encoding/json fmt reflect mime/... image/... archive/... compress/... log/... math/big crypto/x509 net net/netip net/http/... net/mail net/url net/textproto \
      os/... io/fs path/... \
      vendor/golang.org/x/text/... vendor/golang.org/x/net/...; do
      lean+=("-gcflags=$package=-l")
    done
    # brotli, which the program rejects before it reads it, is not linked (scripts/release/brotli).
    go mod vendor
    cp scripts/release/brotli/codec.go vendor/github.com/parquet-go/parquet-go/compress/brotli/brotli.go
    # Functions begin at multiples of 8 bytes, on arm64 of 16 (docs/reference/measurements.md, "Size of the program").
    case $arch in amd64) align=8 ;; *) align=16 ;; esac
    go build "${lean[@]}" -tags urfave_cli_no_docs -o "$out/mlperf-go" -ldflags "-s -w -buildid= -funcalign=$align -linkmode=external -extld=$CXX
      -X github.com/mlperf-go/mlperf-go/run/record.version=$version
      -extldflags '-B$stubs -L$stubs -static-libstdc++ -static-libgcc -Wl,--build-id=none,--gc-sections,--exclude-libs,ALL $work/compat.o -lresolv -lpthread'" \
      ./cmd/mlperf-go
    # All modules of the program are in the module cache by now.
    GOPROXY=off "$work/cyclonedx-gomod" bin -json -noserial -licenses -version "$version" "$out/mlperf-go" \
      >"$work/modules.json" 2>"$work/sbom.log" || { cat "$work/sbom.log" >&2 && exit 1; }
    "$work/tool" sbom "$version" "$work/modules.json" "$("$CXX" -dumpfullversion)" >"$work/files/$name.cdx.json"
  )
  "$work/tool" check "$out/mlperf-go"
  cp LICENSE "$work/files/CHANGELOG.md" "$work/files/$name.cdx.json" "$out/"
  (cd "$work" && pack "$name" | gzip -n9 >"files/$name.tar.gz")
  "$work/tool" rootfs "$out/mlperf-go" "${prefix}g++" "$work/rootfs-$arch"
  [ -z "${RELEASE_ROOTFS:-}" ] || cp -a "$work/rootfs-$arch" "$RELEASE_ROOTFS"
done
# shellcheck disable=SC2086
"$work/tool" image "$version" "$work/image" $(for arch in $arches; do echo "$arch=$work/rootfs-$arch"; done)
(cd "$work/image" && pack -- * >"$work/files/mlperf-go-$version-image.tar")
(cd "$work/files" && sha256sum -- * >SHA256SUMS)
rm -rf "$dist"
mkdir -p "$(dirname "$dist")"
mv "$work/files" "$dist"
say "mlperf-go $version is in $dist"
