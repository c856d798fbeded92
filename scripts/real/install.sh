# Functions that install pinned Python packages into the folder $home, for scripts that source this file. A script that
# cannot install them prints the reason and exits with 0. $what names in words what then cannot run.

skip() {
  echo "skipped: no $what on this machine: $1"
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

# install ARGS...: installs packages in the environment, whose Python is $python.
install() {
  "$python" -m pip install --quiet --disable-pip-version-check "$@" >>"$home/pip.log" 2>&1 ||
    skip "pip could not install $*: $(tail -1 "$home/pip.log")"
}

# vllm: an environment with vLLM's build for CPUs, unless it is there already.
vllm() {
  cmp -s "$scripts/vllm.txt" "$home/installed.txt" && return
  environment
  install --no-deps -r "$scripts/vllm.txt"
  "$python" "$scripts/vllm_install.py" requires >"$home/requires.txt"
  install -r "$home/requires.txt" -r "$scripts/torch.txt"
  "$python" "$scripts/vllm_install.py" name
  cp "$scripts/vllm.txt" "$home/installed.txt"
}
