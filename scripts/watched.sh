#!/usr/bin/env bash
# What --live and --metrics cost: processor time per query of the whole path against nginx, in turns with runs without
# them, and a reading of 64 metrics pages each second. "run" needs no Go, so that a quiet machine can measure what
# another one built:
#   bash scripts/watched.sh build FOLDER
#   bash scripts/watched.sh run FOLDER [ROUNDS] [QUERIES]
set -euo pipefail
folder=$(mkdir -p "${2:?bash scripts/watched.sh build|run FOLDER}" && cd "$2" && pwd)
case $1 in
build)
  cd "$(dirname "$0")/.."
  export CGO_CFLAGS=${CGO_CFLAGS:--O2 -g -Wno-deprecated-declarations}
  go build -trimpath -o "$folder/mlperf-go" ./cmd/mlperf-go
  go test -c -trimpath -o "$folder/scrape.test" ./metrics/scrape
  ;;
run)
  cd "$folder"
  port=${WATCHED_PORT:-9322}
  prompt=$(printf 'word %.0s' {1..240})
  for ((i = 0; i < 500; i++)); do printf '{"prompt": "%s%d"}\n' "$prompt" "$i"; done >rows.jsonl
  printf '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n' >metrics.txt
  tokens=$(seq -s, 16)
  text=$(printf 'word %.0s' {1..16})
  cat >nginx.conf <<NGINX
worker_processes 1; daemon off; pid $folder/nginx.pid; error_log /dev/null;
events { worker_connections 2048; }
http { access_log off; keepalive_requests 100000000; client_body_buffer_size 64k;
  server { listen 127.0.0.1:$port; default_type application/json;
    location = /v1/models { return 200 '{"object":"list","data":[{"id":"m","max_model_len":8192}]}'; }
    location = /version { return 200 '{"version":"0.32.0"}'; }
    location = /metrics { default_type text/plain; alias $folder/metrics.txt; }
    location /v1/completions { return 200 '{"id":"cmpl-0","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"$text","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[$tokens]}],"usage":{"prompt_tokens":240,"total_tokens":256,"completion_tokens":16}}'; }
  } }
NGINX
  taskset -c 0 nginx -c "$folder/nginx.conf" &
  server=$!
  trap 'kill $server' EXIT
  sleep 1
  # cost NAME FLAG...: prints the name and the processor time of a query in us.
  cost() {
    local name=$1
    shift
    taskset -c 1 ./mlperf-go run --quiet --model generic --scenario Offline --backend vllm --served-model m \
      --dataset rows.jsonl --endpoint "http://127.0.0.1:$port" --min-queries "$queries" --min-duration 0 --max-tokens 16 \
      --concurrency 256 --no-preflight-query --output-dir run --force "$@" >log 2>&1 || [ $? = 1 ] || { cat log >&2; exit 1; }
    echo "$name $(grep -o '"cpu_us_per_sample": *[0-9.]*' run/run.json | grep -o '[0-9.]*$')"
  }
  queries=${4:-400000}
  for ((i = 0; i < ${3:-6}; i++)); do
    if ((i % 2)); then
      cost both --live 127.0.0.1:0 --metrics
      cost plain
    else
      cost plain
      cost both --live 127.0.0.1:0 --metrics
    fi
  done | awk '{ v[$1, ++n[$1]] = $2 }
    function median(key, i, j, t, list, k) {
      k = n[key]
      for (i = 1; i <= k; i++) list[i] = v[key, i]
      for (i = 2; i <= k; i++) for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
      return k % 2 ? list[(k + 1) / 2] : (list[k / 2] + list[k / 2 + 1]) / 2
    }
    END {
      for (i = 1; i <= n["plain"]; i++) v["ratio", i] = v["both", i] / v["plain", i]
      n["ratio"] = n["plain"]
      printf "us of processor time per query, medians of %d: plain %.3f, --live --metrics %.3f, ratio in turns %.3f\n", n["plain"], median("plain"), median("both"), median("ratio")
    }'
  ./scrape.test -test.run '^$' -test.bench Readings -test.benchtime 10x | grep Benchmark
  ;;
*)
  echo "bash scripts/watched.sh build|run FOLDER" >&2
  exit 2
  ;;
esac
