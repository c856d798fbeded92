#!/usr/bin/env bash
# Sends the same profile with mlperf-go and with vllm bench and guidellm, to one simulator, and compares their figures:
#   bash scripts/peers.sh FOLDER [REQUESTS] [RATE]
# FOLDER/mlperf-go-peers gets both packages, pinned in scripts/real (6.5 GB, about ten minutes; later calls keep them),
# and the results.
# Needs bin/mlperf-go. Where pip cannot install them, the script prints the reason and exits with 0. It exits with 1 if
# a figure of this program differs from the server's own time, or one of a client by more than that client's delay.
# docs/reference/peers.md explains the tables.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$(realpath -m "${1:?bash scripts/peers.sh FOLDER [REQUESTS] [RATE]}")/mlperf-go-peers
requests=${2:-200} rate=${3:-10}
program=$PWD/bin/mlperf-go scripts=$PWD/scripts/real what="vllm bench and guidellm"
python=$home/venv/bin/python
. scripts/real/install.sh
vllm
cmp -s "$scripts/guidellm.txt" "$home/guidellm.txt" || {
  install -r "$scripts/guidellm.txt"
  cp "$scripts/guidellm.txt" "$home/guidellm.txt"
}
[ -e "$home/random/config.json" ] || "$python" "$scripts/tinyllama.py" "$home/random" random >"$home/model.log" 2>&1 ||
  skip "the tokenizer could not be made: $(tail -1 "$home/model.log")"

rm -rf "$home/work"
mkdir -p "$home/work/pages"
cd "$home/work"
# Nothing is fetched, and the tokenizer is in the folder.
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 VLLM_NO_USAGE_STATS=1
export HF_HOME=$PWD/hub VLLM_CACHE_ROOT=$PWD/cache TIMEFORMAT='%U %S'
# The server has the first CPU, and each client the others.
first() { echo; }
others() { echo; }
if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
  mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //; s/,/\n/g' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }')
  first() { echo "taskset -c ${cpus[0]}"; }
  others() { echo "taskset -c $(printf '%s\n' "${cpus[@]:1}" | paste -sd,)"; }
fi
$(first) "$program" sim --model tiny --answers random --ttft 20ms --tpot 5ms --ready-file url --quiet 2>sim.log &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 400); do
  [ -s url ] && break
  sleep 0.05
done
url=$(cat url) || { echo "peers: the simulator did not start: $(cat sim.log)" >&2; exit 1; }

cat >vllm.yaml <<PROFILE
backend: openai
endpoint: /v1/completions
model: tiny
dataset-name: random
random-input-len: 32
random-output-len: 32
num-prompts: $requests
request-rate: $rate
seed: 0
ignore-eos: none
PROFILE
cat >guidellm.yaml <<PROFILE
spec:
  backend: {kind: openai_http, target: $url, model: tiny, request_format: /v1/completions}
  profile: {kind: poisson, rate: [$rate]}
  constraints: [{kind: max_requests, count: $requests}]
  data: [{kind: synthetic_text, prompt_tokens: 32, output_tokens: 32}]
  tokenizer: {kind: huggingface_auto, model: $home/random}
  outputs: [{kind: json, path: $PWD/guidellm.json}]
PROFILE

# page NAME: the server's own figures until now.
page() { "$python" -c 'import sys, urllib.request as r; sys.stdout.buffer.write(r.urlopen(sys.argv[1]).read())' "$url/metrics" >"pages/$1"; }

# timed NAME COMMAND: runs a client, and keeps its output and its processor time.
timed() {
  local name=$1
  shift
  { time $(others) "$@" >"$name.log" 2>&1; } 2>"$name.time" || [ "$name" != "${name%-ours}" ] ||
    { echo "peers: $name failed: $(tail -3 "$name.log")" >&2; exit 1; }
}

# measure PEER HARNESS COMMAND: the profile PEER.yaml through this program, and through a client.
measure() {
  local peer=$1 harness=$2
  shift 2
  page "$peer-0"
  timed "$peer-ours" "$program" bench run -l "$harness" -w "$peer.yaml" -U "$url" --output "ours-$peer" --no-progress
  "$program" bench convert "ours-$peer" --format "$peer" --output "files-$peer" >>"$peer-ours.log" 2>&1 ||
    { echo "peers: no files of $peer: $(tail -3 "$peer-ours.log")" >&2; exit 1; }
  page "$peer-1"
  timed "$peer" "$@"
  page "$peer-2"
}

# The profile of vllm bench is its flags: a line for each; a flag with the value none has no value.
mapfile -t flags < <(sed 's/^\([^:]*\): /--\1\n/' vllm.yaml | grep -vx none)
measure vllm vllm-benchmark "$home/venv/bin/vllm" bench serve "${flags[@]}" --base-url "$url" --tokenizer "$home/random" \
  --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,99 --save-result --save-detailed --disable-tqdm \
  --result-dir . --result-filename vllm.json
measure guidellm guidellm "$home/venv/bin/guidellm" run --scenario guidellm.yaml --disable-progress
"$python" "$scripts/peers.py" . "$requests"
