// SPDX-License-Identifier: Apache-2.0
// Unpacks what the page carries and draws its pictures.
const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

async function unpack(name) {
  const packed = Uint8Array.from(atob(document.getElementById(name).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

function say(text) {
  const note = Object.assign(document.createElement("p"), { className: "said", textContent: text });
  document.querySelector("main").prepend(note);
}

// Kept once all pictures are drawn, for scripts that add to them.
const drawn = (async () => {
  if (typeof DecompressionStream === "undefined") {
    say("The pictures need a browser of 2023 or later: Chrome 80, Firefox 113, Safari 16.4.");
    return {};
  }
  const library = document.createElement("script");
  library.textContent = await unpack("plotly");
  document.head.append(library);
  const pictures = JSON.parse(await unpack("pictures"));
  for (const [name, picture] of Object.entries(pictures)) {
    await Plotly.newPlot(name, picture.data, picture.layout, CONFIG);
  }
  document.body.dataset.drawn = "yes";
  return pictures;
})();
