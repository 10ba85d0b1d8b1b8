// The diagram of the flow, in a wide and a narrow layout.

import { age, rate, svg, whole } from "./dom.js";

const HEIGHT = 52;
const STAGE_WIDTH = 120;
const WIDE = {
  box: [1140, 330],
  topic: 150,
  nodes: {
    "hl7.raw": [85, 120], intake: [320, 120], notes: [545, 70], patients: [545, 180], scrub: [775, 120],
    "notes.scrubbed": [1045, 45], "phi.audit": [1045, 145], "dead.letters": [1045, 275],
  },
  edges: [
    ["hl7.raw", "intake", "M160 120H258", [209, 110]],
    ["intake", "notes", "M382 108C420 108 420 70 463 70", [427, 76]],
    ["intake", "patients", "M382 132C420 132 420 180 463 180", [427, 174]],
    ["notes", "scrub", "M620 70C665 70 670 108 713 108", [667, 76]],
    ["patients", "scrub", "M620 180C665 180 670 132 713 132", null],
    ["scrub", "notes.scrubbed", "M837 110C900 110 900 45 963 45", [900, 64]],
    ["scrub", "phi.audit", "M837 124C900 124 900 145 963 145", [905, 144]],
    ["scrub", "dead.letters", "M815 147C850 262 890 262 963 262", [880, 222]],
    ["intake", "dead.letters", "M320 147C320 262 370 288 440 288H963", [545, 293]],
  ],
};
const NARROW = {
  box: [360, 560],
  topic: 136,
  nodes: {
    "hl7.raw": [180, 34], intake: [180, 136], notes: [92, 246], patients: [268, 246], scrub: [180, 356],
    "notes.scrubbed": [76, 460], "phi.audit": [260, 460], "dead.letters": [180, 530],
  },
  edges: [
    ["hl7.raw", "intake", "M180 60V103", [180, 88]],
    ["intake", "notes", "M150 162C150 192 92 186 92 214", [98, 190]],
    ["intake", "patients", "M210 162C210 192 268 186 268 214", [262, 190]],
    ["notes", "scrub", "M92 272C92 302 150 296 150 324", [98, 304]],
    ["patients", "scrub", "M268 272C268 302 210 296 210 324", null],
    ["scrub", "notes.scrubbed", "M150 382C150 410 76 400 76 428", [90, 410]],
    ["scrub", "phi.audit", "M210 382C210 410 260 400 260 428", [258, 410]],
    ["scrub", "dead.letters", "M180 382V498", [180, 448]],
    ["intake", "dead.letters", "M242 136H350V530H252", [332, 330]],
  ],
};
const STAGES = ["intake", "scrub"];
const PHI = ["hl7.raw", "notes", "patients", "dead.letters"];
const ARROW = "M0 -4.5L7 0L0 4.5";

/** Build the diagram once for each layout; afterwards update only its numbers. */
export function flowDiagram(host) {
  let layout = null;
  let parts = null;
  return (figures) => {
    const wanted = matchMedia("(max-width: 36rem)").matches ? NARROW : WIDE;
    if (wanted !== layout) {
      layout = wanted;
      parts = build(host, layout);
    }
    update(parts, figures);
  };
}

function build(host, layout) {
  const [width, height] = layout.box;
  const edges = layout.edges.map(([from, to, path, at]) => edge(from, to, path, at));
  const nodes = Object.entries(layout.nodes).map(([name, at]) => node(name, at, layout));
  const title = svg("title", { id: "flow-title" }, "The flow of records");
  const about = svg("desc", { id: "flow-desc" });
  host.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "flow-title flow-desc" },
    title, about, edges.map((e) => e.group), nodes.map((n) => n.group)));
  return { edges, nodes, about };
}

function edge(from, to, path, at) {
  const line = svg("path", { class: "edge", d: path, "stroke-width": 2 });
  const pulse = svg("path", { class: `pulse${to === "dead.letters" ? " dead" : ""}`, d: path, "stroke-width": 3, visibility: "hidden" });
  const [x, y, angle] = tip(path);
  const head = svg("path", { class: "edge", d: ARROW, "stroke-width": 2, transform: `translate(${x} ${y}) rotate(${angle})` });
  const label = at ? svg("text", { class: "rate", x: at[0], y: at[1], "text-anchor": "middle" }) : null;
  return { from, to, pulse, label, group: svg("g", {}, line, pulse, head, label) };
}

function tip(path) {
  const numbers = path.match(/-?\d+/g).map(Number);
  const last = path.match(/[A-Z][^A-Z]*$/)[0];
  if (last[0] === "V") return [numbers.at(0), numbers.at(-1), 90];
  if (last[0] === "H") return path.includes("V") ? [numbers.at(-1), numbers.at(-2), 180] : [numbers.at(-1), path.match(/H/g).length && numbers.length > 3 ? numbers.at(-2) : numbers[1], 0];
  const [cx, cy, x, y] = numbers.slice(-4);
  return [x, y, Math.round((Math.atan2(y - cy, x - cx) * 180) / Math.PI)];
}

function node(name, [x, y], layout) {
  const isStage = STAGES.includes(name);
  const w = isStage ? STAGE_WIDTH : layout.topic;
  const h = HEIGHT;
  const second = svg("text", { class: "dim lag", x, y: y + 15, "text-anchor": "middle" });
  const group = svg("g", { class: isStage ? "stage" : `topic${PHI.includes(name) ? " phi" : ""}` },
    ABOUT[name] ? svg("title", {}, ABOUT[name]) : null,
    svg("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: isStage ? 10 : 4 }),
    svg("text", { x, y: y - 3, "text-anchor": "middle" }, name), second);
  return { name, second, group };
}

function update({ edges, nodes, about }, figures) {
  const rates = new Map(figures.flow.edges.map((e) => [`${e.from} ${e.to}`, e.rate]));
  for (const { from, to, pulse, label } of edges) {
    const value = rates.get(`${from} ${to}`) ?? (from === "patients" ? rates.get("notes scrub") : 0);
    pulse.setAttribute("visibility", value > 0 ? "visible" : "hidden");
    pulse.setAttribute("stroke-width", (2.5 + Math.log10(1 + value)).toFixed(1));
    if (label) {
      label.textContent = rate(value);
      label.classList.toggle("zero", !value);
    }
  }
  for (const { name, second } of nodes) annotate(second, name, figures);
  const rateTexts = figures.flow.edges.map((e) => `${e.from} to ${e.to} ${rate(e.rate)}`);
  about.textContent = `Records per second: ${rateTexts.join("; ")}.`;
}

const READER = { "hl7.raw": "-intake", notes: "-scrub" };
const WORDS = { patients: "latest state", "notes.scrubbed": "no PHI", "phi.audit": "no text", "dead.letters": "restricted" };
const ABOUT = {
  patients: "A compacted topic: the latest demographics of each patient. Every message that names a patient updates it, notes included.",
  "phi.audit": "What was removed where, by which detector; no text. Restricted, since it contains times.",
  "dead.letters": "Records that can't be processed, unchanged. Restricted to those who may see the originals.",
  "notes.scrubbed": "The published notes, without PHI and times.",
};
const RANK = ["OK", "WARN", "STALL", "STOP"];

function annotate(second, name, figures) {
  if (name in WORDS) {
    second.textContent = WORDS[name];
  } else if (name in READER) {
    const lags = figures.lag.partitions.filter((p) => p.topic === name && p.group.endsWith(READER[name]));
    const records = lags.reduce((sum, p) => sum + p.records, 0);
    const worst = RANK[Math.max(0, ...lags.map((p) => RANK.indexOf(p.state)))];
    second.textContent = lags.length ? (records ? `${whole(records)} ${worst === "OK" ? "behind" : worst}` : "no lag") : "–";
    second.dataset.state = worst;
  } else {
    const took = figures.latency.minute[name].p50;
    second.textContent = took === null ? "idle" : `p50 ${age(took / 1000)}`;
  }
}
