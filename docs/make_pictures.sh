#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of the documentation from fresh runs; needs chromium.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# Of an HTML file, so many pixels high.
shot() {
  chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --user-data-dir="$folder/chromium" --window-size="1300,$2" --virtual-time-budget=8000 \
    --screenshot="$PWD/docs/$3" "file://$1"
}

# The sections of a report whose titles begin so, alone.
cut_out() {
  python3 - "$1" "$2" <<'PYTHON'
import re, sys
report, titles = sys.argv[1], sys.argv[2]
page = open(report, encoding="utf-8").read()
head, body = page.split("<body>", 1)
parts = re.findall(rf"<section><h2>(?:{titles}).*?</section>", body, re.DOTALL)
assert parts, f"no section of {report} begins with {titles}"
open(report.replace("report.html", "part.html"), "w", encoding="utf-8").write(f"{head}<body><main>{''.join(parts)}</main></body></html>")
PYTHON
}

./penstock run scenarios/hello --out "$folder/hello" >/dev/null
shot "$folder/hello/report.html" 1500 hello.png
for name in "tas|Gates|520" "cbs|Credit|640" "mixed|Gates|Credit|1190"; do
  scenario="${name%%|*}" rest="${name#*|}"
  ./penstock run "scenarios/$scenario" --out "$folder/$scenario" >/dev/null
  cut_out "$folder/$scenario/report.html" "${rest%|*}"
  shot "$folder/$scenario/part.html" "${rest##*|}" "$scenario.png"
done
./penstock reproduce ats-switch --only fig21 --only fig22 --out "$folder/paper" >/dev/null
cut_out "$folder/paper/report.html" "Figure"
shot "$folder/paper/part.html" 1960 papers/ats-switch.png
# Pictures alone: the rows are in the page.
without_rows() { sed -i "s/<div class=\"scroll\">/<div hidden>/g; s/<details>/<details hidden>/g" "$1"; }
./penstock reproduce launch-time-talker --only table1 --only table3 --out "$folder/talker" >/dev/null
cut_out "$folder/talker/report.html" "Table"
without_rows "$folder/talker/part.html"
shot "$folder/talker/part.html" 1640 papers/launch-time-talker.png
./penstock reproduce linux-shapers --only fig2 --only fig7 --out "$folder/linux" >/dev/null
cut_out "$folder/linux/report.html" "Figure"
without_rows "$folder/linux/part.html"
shot "$folder/linux/part.html" 1730 papers/linux-shapers.png
# What the blocks of the switch cost, from the table of their page.
.venv/bin/python - docs/synthesis.md "$folder/cost.html" <<'PYTHON'
import re, sys
import plotly.graph_objects as go
(table,) = re.findall("<!-- begin xc7 -->(.*?)<!-- end xc7 -->", open(sys.argv[1], encoding="utf-8").read(), re.DOTALL)
rows = [(name, int(lut)) for name, lut in re.findall(r"^\| `(\w+)` \| \d+ \| (\d+) \|", table, re.MULTILINE)]
names, luts = zip(*rows[15::-1])
figure = go.Figure(go.Bar(x=luts, y=names, orientation="h", text=luts, textposition="outside", marker_color="#0072B2"))
figure.update_layout(template="plotly_white", margin_l=170, margin_t=20, xaxis_title="LUT6, all instances", height=540, font_size=15)
figure.write_html(sys.argv[2], config={"displayModeBar": False})
PYTHON
shot "$folder/cost.html" 560 synthesis.png
