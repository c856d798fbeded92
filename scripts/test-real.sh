#!/usr/bin/env bash
# Drives a real inference server on this machine through `mlperf-go run`: scripts/test-real.sh [llamacpp|vllm|sglang]
# llamacpp takes seconds and 34 MB; vllm (its build for CPUs) and sglang (on a CPU) ten minutes and 7 GB each.
# The server is installed from its Python package, pinned in scripts/real/SERVER.txt, into REAL_HOME
# (.cache/real/SERVER); its weights are made here. The runs are the scripts of cmd/mlperf-go/testdata/real/SERVER. If
# the package cannot be installed, the script prints the reason and exits with 0.
set -euo pipefail
cd "$(dirname "$0")/.."
server=${1:-llamacpp}
home=${REAL_HOME:-$PWD/.cache/real/$server}
scripts=$PWD/scripts/real
export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}

what="real $server server"
. scripts/real/install.sh

# weights KIND...: creates tiny models with the environment's Python.
weights() {
  for kind in "$@"; do
    [ -e "$home/$kind/config.json" ] || "$python" "$scripts/tinyllama.py" "$home/$kind" "$kind" >"$home/model.log" 2>&1 ||
      skip "the model could not be made: $(tail -1 "$home/model.log")"
  done
}

case $server in
llamacpp)
  packages "$scripts/llamacpp.txt"
  export PYTHONPATH=$home/packages
  python3 -c 'import xllamacpp' 2>"$home/import.log" || skip "its package cannot be loaded: $(tail -1 "$home/import.log")"
  python3 "$scripts/gguf.py" "$home/tiny.gguf"
  python3 "$scripts/gguf.py" "$home/calls.gguf" calls
  ;;
vllm)
  python=$home/venv/bin/python
  vllm
  weights random end
  ;;
sglang)
  python=$home/venv/bin/python
  if ! cmp -s "$scripts/sglang.txt" "$home/installed.txt"; then
    environment
    install --no-deps -r "$scripts/sglang.txt"
    "$python" "$scripts/sglang_install.py" >"$home/requires.txt"
    install -r "$home/requires.txt"
    cp "$scripts/sglang.txt" "$home/installed.txt"
  fi
  weights random
  ;;
*)
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
  ;;
esac
REAL_SERVER=$server REAL_HOME=$home REAL_SCRIPTS=$scripts go test -count=1 -timeout 100m -parallel 1 -run '^TestRealServers$' "${@:2}" ./cmd/mlperf-go
