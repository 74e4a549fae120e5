#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of the documentation from fresh runs; needs chromium.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
./penstock run scenarios/hello --out "$folder/hello" >/dev/null
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
  --user-data-dir="$folder/chromium" --window-size=1300,1500 --virtual-time-budget=8000 \
  --screenshot="$PWD/docs/hello.png" "file://$folder/hello/report.html"
