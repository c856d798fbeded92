#!/usr/bin/env bash
# Makes the pictures in docs/images from rehearsals: make screenshots. The report is that of a server with too few
# sequences for its load (scripts/causes.sh). The live page is that of a server whose answers sometimes fail. Needs
# chromium and curl.
set -euo pipefail
cd "$(dirname "$0")/.."
chromium=${CHROMIUM:-chromium}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
mkdir -p docs/images

# picture NAME WIDTH,HEIGHT URL: docs/images/NAME.png, of a window with this size in pixels.
picture() {
  "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$2" --user-data-dir="$work/user" \
    --screenshot="$work/$1.png" "$3" 2>/dev/null
  go run ./scripts/palette "$work/$1.png" "docs/images/$1.png"
  size=$(stat -c %s "docs/images/$1.png")
  if [ "$size" -gt 150000 ]; then
    echo "screenshots: docs/images/$1.png has $size bytes, at most 150000: make the window smaller" >&2
    exit 1
  fi
  echo "docs/images/$1.png: $size bytes"
}

# until_file FILE: waits for a file with content.
until_file() {
  for _ in $(seq 200); do
    [ -s "$1" ] && return
    sleep 0.05
  done
  echo "screenshots: $1 did not appear" >&2
  exit 1
}

bash scripts/causes.sh "$work" a
picture report 1000,2022 "file://$work/a/report.html"

bin/mlperf-go sim --dataset "$work/data.json" --ready-file "$work/live.url" --quiet --tpot 2ms --fault http_500=0.02 \
  2>/dev/null &
until_file "$work/live.url"
bin/mlperf-go run --model llama3.1-8b --scenario Server --target-qps 20 --min-queries 1 --min-duration 50s \
  --dataset "$work/data.json" --endpoint "$(cat "$work/live.url")" --metrics --live "unix:$work/page.sock" --quiet \
  --retries 0 --no-preflight-query --output-dir "$work/live" >/dev/null 2>&1 &
until_file "$work/live/user.conf"
sleep 35
# The browser would wait for the end of the event stream, so it gets a copy of the page.
curl -s --unix-socket "$work/page.sock" http://localhost/ |
  sed 's/new EventSource(/({addEventListener() {}}, /' >"$work/live.html"
picture live 1500,1510 "file://$work/live.html"
