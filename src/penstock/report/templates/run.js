// SPDX-License-Identifier: Apache-2.0
// The moments of a run: chosen from the list, or by a click on a frame.
const choice = document.getElementById("moment-choice");
const shown = document.getElementById("moment");

function element(kind, text, className = "") {
  return Object.assign(document.createElement(kind), { textContent: text, className });
}

async function show(name) {
  const moment = JSON.parse(await unpack(name));
  shown.replaceChildren(element("h3", moment.title), ...moment.said.map((text) => element("p", text)));
  for (const [number, hop] of moment.hops.entries()) {
    const picture = element("div", "", "plot");
    picture.id = `moment-plot-${number}`;
    shown.append(element("h4", hop.place), ...hop.said.map((text) => element("p", text)));
    shown.append(element("p", hop.note, "note"), picture);
    await Plotly.newPlot(picture, hop.data, hop.layout, CONFIG);
  }
  shown.dataset.shown = name;
}

function openFrame(id, stream) {
  const option = [...choice.options].find((each) => each.dataset.frame === String(id));
  if (option) {
    choice.value = option.value;
    show(option.value);
  } else {
    shown.replaceChildren(
      element("h3", `Frame ${id} of ${stream}`),
      element("p", "This file does not hold it hop by hop. A report that does:"),
      element("pre", `penstock report RUN SCENARIO --frame ${id}`),
    );
    delete shown.dataset.shown;
  }
  document.getElementById("a-moment").scrollIntoView({ behavior: "smooth" });
}

drawn.then(() => {
  if (!choice) return;
  choice.addEventListener("change", () => show(choice.value));
  document.getElementById("plot-latency-over-time").on("plotly_click", ({ points: [point] }) => {
    const id = point.customdata.length ? point.customdata[0] : point.customdata; // a typed array is no Array
    openFrame(id, point.text ?? point.data.meta.stream);
  });
  if (choice.value) return show(choice.value);
});

// Which streams are drawn: those whose names have the text, or of them the chosen ones.
const filter = document.getElementById("stream-filter");
const FEW = 8; // streams whose limits are drawn
const chips = [...document.querySelectorAll("#choose button")];

function choose() {
  const text = filter.value.toLowerCase();
  for (const chip of chips) chip.hidden = !chip.dataset.stream.toLowerCase().includes(text);
  const there = chips.filter((chip) => !chip.hidden);
  const picked = there.filter((chip) => chip.classList.contains("picked"));
  const names = new Set((picked.length ? picked : there).map((chip) => chip.dataset.stream));
  for (const plot of document.querySelectorAll("section > .plot")) {
    const own = (plot.data ?? []).flatMap((trace, number) => (trace.meta?.stream === undefined ? [] : [number]));
    if (!own.length) continue;
    const visible = own.map((n) => names.has(plot.data[n].meta.stream) && (!plot.data[n].meta.limit || names.size <= FEW));
    Plotly.restyle(plot, { visible }, own);
  }
}

if (filter) {
  filter.addEventListener("input", choose);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.classList.toggle("picked");
      choose();
    });
  }
}
