#!/usr/bin/env bash
# Tests the pages of the program in headless Chromium: make test-browser. Without a browser the tests are skipped, which
# a line "skipped: ..." states. In CI as root on Debian, where .ci/run installs one, that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
chromium=
for name in ${CHROMIUM:-chromium chromium-browser google-chrome}; do
  if chromium=$(command -v "$name"); then
    break
  fi
done
if [ -z "$chromium" ]; then
  if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "test-browser: there is no chromium, although this is CI: apt-get install chromium" >&2
    exit 1
  fi
  echo "skipped: the browser tests, because there is no chromium (Debian: apt-get install chromium)"
  exit 0
fi
export BROWSER_TEST_CHROMIUM=$chromium BROWSER_TEST_PROGRAM=$PWD/bin/mlperf-go
go vet -tags browser ./scripts/browser
go test -tags browser -count=1 -timeout 10m -v "$@" ./scripts/browser
