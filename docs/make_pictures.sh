#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of the documentation from fresh runs; needs chromium and, for waves, gtkwave. With names, as "hello tas", only those.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
wanted=" $* "

is_wanted() { [ "$wanted" = "  " ] || [[ "$wanted" == *" $1 "* ]]; }

# Of an HTML file, so many pixels high.
shot() {
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking \
    --user-data-dir="$folder/chromium" --window-size="1300,$2" --virtual-time-budget=20000 \
    --screenshot="$PWD/docs/$3" "file://$1"
}

# The sections of a report whose titles begin so, alone. A third argument is more CSS.
cut_out() {
  python3 - "$1" "$2" "${3:-}" <<'PYTHON'
import re, sys
report, shown, hidden = sys.argv[1:]
page = open(report, encoding="utf-8").read()
titles = re.findall(r'<section id="([^"]+)"><h2>([^<]*)', page)
names = [f"#{name}" for name, title in titles if re.match(shown, title)]
assert names, f"no section of {report} begins with {shown}"
style = f"main > * {{ display: none !important }} {', '.join(names)} {{ display: block !important }} {hidden}"
part = page.replace("</head>", f"<style>{style}</style></head>", 1)
open(report.replace("report.html", "part.html"), "w", encoding="utf-8").write(part)
PYTHON
}

if is_wanted hello; then
  ./penstock run scenarios/hello --out "$folder/hello" >/dev/null
  cut_out "$folder/hello/report.html" "Streams|Latency over time"
  shot "$folder/hello/part.html" 830 hello.png
fi
for name in "tas|A moment|640" "cbs|A moment|700" "mixed|A moment|1400" "line5|Where the time goes|900" \
  "torus|Ways around|610"; do
  scenario="${name%%|*}" rest="${name#*|}"
  is_wanted "$scenario" || continue
  ./penstock run "scenarios/$scenario" --nodes model --out "$folder/$scenario" >/dev/null
  cut_out "$folder/$scenario/report.html" "${rest%|*}"
  shot "$folder/$scenario/part.html" "${rest##*|}" "$scenario.png"
done
if is_wanted side-by-side; then
  ./penstock run scenarios/lab --nodes model,rtl,linux,plane --out "$folder/sides" >/dev/null || test $? = 1
  cut_out "$folder/sides/report.html" "Steps$"
  shot "$folder/sides/part.html" 660 side-by-side.png
fi
if is_wanted plane-watch; then
  .venv/bin/python docs/draw_watch.py docs/plane-watch.svg
fi
if is_wanted report; then
  # The way of the frame that waited longest among those of a stream shaped by ATS.
  ./penstock run scenarios/mixed --nodes model --out "$folder/moment" >/dev/null
  worst="$(grep -o 'data-frame="[0-9]*">frame [0-9]* of events' "$folder/moment/report.html" | grep -o '[0-9]*' | head -1)"
  ./penstock report "$folder/moment" --frame "$worst" >/dev/null
  cut_out "$folder/moment/report.html" "A moment"
  shot "$folder/moment/part.html" 1420 report.png
fi
if is_wanted bound; then
  ./penstock bound scenarios/mixed --html "$folder/report.html" >/dev/null
  cut_out "$folder/report.html" "sw port 3, class 6"
  shot "$folder/part.html" 530 bound.png
fi
if is_wanted ats-switch; then
  ./penstock reproduce ats-switch --only fig21 --only fig22 --out "$folder/paper" >/dev/null
  cut_out "$folder/paper/report.html" "Figure"
  shot "$folder/paper/part.html" 1960 papers/ats-switch.png
fi
# Pictures alone: the rows are in the page.
without_rows="section > .scroll, details { display: none }"
if is_wanted launch-time-talker; then
  ./penstock reproduce launch-time-talker --only table1 --only table3 --out "$folder/talker" >/dev/null
  cut_out "$folder/talker/report.html" "Table" "$without_rows"
  shot "$folder/talker/part.html" 1640 papers/launch-time-talker.png
fi
if is_wanted linux-shapers; then
  ./penstock reproduce linux-shapers --only fig2 --only fig7 --out "$folder/linux" >/dev/null
  cut_out "$folder/linux/report.html" "Figure" "$without_rows"
  shot "$folder/linux/part.html" 1730 papers/linux-shapers.png
fi
if is_wanted time-aware-nic; then
  ./penstock reproduce time-aware-nic --only latency --only shares --only tiles --out "$folder/nic" >/dev/null
  cut_out "$folder/nic/report.html" "IV-A|Section VI" "$without_rows"
  shot "$folder/nic/part.html" 2110 papers/time-aware-nic.png
fi
if is_wanted smartnic-tas; then
  ./penstock reproduce smartnic-tas --only fig8 --only fig9 --out "$folder/smartnic" >/dev/null
  cut_out "$folder/smartnic/report.html" "Figure" "$without_rows"
  shot "$folder/smartnic/part.html" 3560 papers/smartnic-tas.png
fi
if is_wanted synthesis; then
  # From the table of the page, which `./penstock hw synth --target xc7 --update-docs` makes.
  .venv/bin/python - docs/synthesis.md "$folder/synthesis.html" <<'PYTHON'
import re, sys
import plotly.graph_objects as go
page, picture = sys.argv[1:]
table = open(page, encoding="utf-8").read().partition("<!-- begin xc7 -->")[2].partition("<!-- end xc7 -->")[0]
rows = [(name, int(luts)) for name, luts in re.findall(r"^\| `(\w+)` \| \d+ \| (\d+) ", table, re.MULTILINE)]
names, luts = zip(*sorted(rows, key=lambda row: row[1])[-16:])
bars = go.Bar(x=luts, y=names, text=luts, orientation="h", textposition="outside", marker_color="#0072b2")
figure = go.Figure(bars).update_layout(template="plotly_white", width=1270, height=530, margin_t=10, bargap=0.2)
figure.update_xaxes(title="LUT6, all instances").write_html(picture, config={"displayModeBar": False})
PYTHON
  shot "$folder/synthesis.html" 560 synthesis.png
fi
if is_wanted waves; then
  cat >"$folder/waves.toml" <<'TOML'
name = "waves"
nodes = "rtl"
duration = "2ms"
bridges.sw.ports = 4
stations = { a = { at = "sw.0" }, b = { at = "sw.1" }, c = { at = "sw.2" } }

[streams.fast]
from = "a"
to = ["c"]
vlan = 10
pcp = 3
source = { frames = "100B", every = "50us" }
ats = { rate = "30Mb/s", burst = "300B" }

[streams.wide]
from = "b"
to = ["c"]
vlan = 10
pcp = 0
source = { frames = "1522B", back_to_back = true, count = 100 }
TOML
  ./penstock run "$folder/waves.toml" --wave 62.3us --out "$folder/waves" >/dev/null
  port='pen_switch.g_egress[2].u_port'
  .venv/bin/python docs/draw_waves.py "$folder/waves/sw.fst" 61650 63050 \
    gmii_rx_dv_i:1 'gmii_rxd_i.gmii_rxd_i[1]' verdict_o.valid "$port.u_queue.waiting_o" "$port.tx_ready" \
    "$port.u_queue.grant_o" gmii_tx_en_o:2 'gmii_txd_o.gmii_txd_o[2]' >"$folder/waves.svg"
  mv "$folder/waves.svg" docs/waves.svg
fi
