#!/usr/bin/env bash
# Tests the build tag nvtx with NVIDIA's library of version 2 and 3: make test-nvtx. The first call installs them from
# their packages into .cache/nvtx (0.4 MB). Without a package index or a C compiler the test is skipped, which a line
# "skipped: ..." states.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
folder=$PWD/.cache/nvtx
libraries=
for version in 12.1.105 12.9.79; do
  if ! [ -e "$folder/$version/done" ]; then
    rm -rf "${folder:?}/$version"
    if ! python3 -m pip install -q --disable-pip-version-check --no-deps --only-binary :all: --target "$folder/$version" \
      "nvidia-nvtx-cu12==$version" >"$folder.log" 2>&1; then
      tail -n 3 "$folder.log" >&2
      echo "skipped: the test of the tag nvtx, because the package nvidia-nvtx-cu12 $version could not be installed"
      exit 0
    fi
    touch "$folder/$version/done"
  fi
  libraries=$libraries:$folder/$version/nvidia/nvtx/lib
done
if ! command -v cc >/dev/null; then
  echo "skipped: the test of the tag nvtx, because there is no C compiler"
  exit 0
fi
cc -O2 -Wall -Wextra -shared -fPIC -pthread -o "$folder/recorder.so" scripts/nvtx/testdata/recorder.c
export NVTX_TEST_PROGRAM=$PWD/bin/mlperf-go-nvtx NVTX_TEST_PLAIN=$PWD/bin/mlperf-go
export NVTX_TEST_RECORDER=$folder/recorder.so NVTX_TEST_LIBRARIES=${libraries#:}
go vet -tags nvtx ./internal/nvtx ./loadgen-cgo ./sut ./scripts/nvtx
go test -tags nvtx -count=1 -timeout 10m -v "$@" ./scripts/nvtx
