#!/usr/bin/env bash
# Makes the pictures of docs/images from a rehearsal: make screenshots. The report is that of a server with too few
# sequences for its load (scripts/causes.sh). Needs chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
chromium=${CHROMIUM:-chromium}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bash scripts/causes.sh "$work" a
mkdir -p docs/images
"$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,1880 \
  --screenshot="$work/report.png" "file://$work/a/report.html" 2>/dev/null
go run ./scripts/palette "$work/report.png" docs/images/report.png
size=$(stat -c %s docs/images/report.png)
if [ "$size" -gt 150000 ]; then
  echo "screenshots: docs/images/report.png has $size bytes, at most 150000: make the window smaller" >&2
  exit 1
fi
echo "docs/images/report.png: $size bytes"
