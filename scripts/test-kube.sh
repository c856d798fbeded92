#!/usr/bin/env bash
# Tests the module kube/ against etcd, kube-apiserver, kube-controller-manager and kube-scheduler of the pinned version, which are
# built from their own modules into .cache/kube once: about 5 minutes on two cores, and seconds after that.
# Needs bin/mlperf-go, which the pods run. Pods are processes in mount namespaces: root, or user namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/kube
mkdir -p "$cache"
plane=kube/testcluster/controlplane
stamp=$(cat "$plane"/go.mod "$plane"/go.sum "$plane"/main.go | sha256sum | cut -d' ' -f1)
if [ ! -x "$cache/controlplane" ] || [ "$(cat "$cache/stamp" 2>/dev/null)" != "$stamp" ]; then
  echo "test-kube: building the control plane"
  (cd "$plane" && go build -trimpath -ldflags='-s -w' -o "$cache/controlplane" .)
  printf '%s' "$stamp" >"$cache/stamp"
fi
cd kube
export CGO_ENABLED=0 KUBE_TEST_CONTROLPLANE=$cache/controlplane
go vet ./...
go test -count=1 -p 2 -parallel 8 -timeout 15m "$@" ./...
