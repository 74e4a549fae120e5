#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of the documentation from fresh runs; needs chromium. With names, as "hello tas", only those.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
wanted=" $* "

is_wanted() { [ "$wanted" = "  " ] || [[ "$wanted" == *" $1 "* ]]; }

# Of an HTML file, so many pixels high.
shot() {
  chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
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
for name in "tas|A moment|640" "cbs|A moment|700" "mixed|A moment|1400" "line5|Where the time goes|900"; do
  scenario="${name%%|*}" rest="${name#*|}"
  is_wanted "$scenario" || continue
  ./penstock run "scenarios/$scenario" --nodes model --out "$folder/$scenario" >/dev/null
  cut_out "$folder/$scenario/report.html" "${rest%|*}"
  shot "$folder/$scenario/part.html" "${rest##*|}" "$scenario.png"
done
if is_wanted report; then
  # The way of the frame that waited longest among those of a stream shaped by ATS.
  ./penstock run scenarios/mixed --nodes model --out "$folder/moment" >/dev/null
  worst="$(grep -o 'data-frame="[0-9]*">frame [0-9]* of events' "$folder/moment/report.html" | grep -o '[0-9]*' | head -1)"
  ./penstock report "$folder/moment" scenarios/mixed --frame "$worst" >/dev/null
  cut_out "$folder/moment/report.html" "A moment"
  shot "$folder/moment/part.html" 1420 report.png
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
