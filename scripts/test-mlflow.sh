#!/usr/bin/env bash
# Tests `metrics upload` against a real tracking server: make test-mlflow. The first call installs MLflow from its package
# into .cache/mlflow, which takes a minute or two and 900 MB. Without a package index the test is skipped, which a line
# "skipped: ..." states.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
version=3.17.2
folder=$PWD/.cache/mlflow
if [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ]; then
  echo "test-mlflow: installing mlflow $version"
  rm -rf "$folder"
  python3 -m venv "$folder"
  if ! "$folder/bin/pip" install -q --disable-pip-version-check "mlflow==$version" >"$folder/log" 2>&1; then
    tail -n 3 "$folder/log" >&2
    echo "skipped: the tests of MLflow, because its package could not be installed"
    exit 0
  fi
  printf '%s' "$version" >"$folder/version"
fi
export MLPERF_GO_MLFLOW=$folder/bin
go test -count=1 -timeout 10m -run '^TestScripts$/^mlflow$' -v "$@" ./cmd/mlperf-go
