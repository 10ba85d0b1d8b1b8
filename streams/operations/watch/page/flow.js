// The diagram of the flow, in a wide and a narrow layout.

import { age, rate, svg, whole } from "./dom.js";

const HEIGHT = 52;
const STAGE_WIDTH = 120;
const WIDE = {
  box: [1140, 360],
  topic: 150,
  nodes: {
    "hl7.raw": [85, 130], intake: [320, 130], notes: [545, 75], "patient.updates": [545, 190], scrub: [775, 130],
    "notes.scrubbed": [1045, 40], patients: [1045, 130], "phi.audit": [1045, 220], "dead.letters": [1045, 315],
  },
  edges: [
    ["hl7.raw", "intake", "M160 130H258", [209, 120]],
    ["intake", "notes", "M382 118C420 118 420 75 463 75", [427, 82]],
    ["intake", "patient.updates", "M382 142C420 142 420 190 463 190", [427, 187]],
    ["notes", "scrub", "M620 75C665 75 670 118 713 118", [667, 84]],
    ["patient.updates", "scrub", "M620 190C665 190 670 142 713 142", null],
    ["scrub", "notes.scrubbed", "M837 114C900 114 900 40 963 40", [900, 68]],
    ["scrub", "patients", "M837 130H963", null],
    ["scrub", "phi.audit", "M837 146C900 146 900 220 963 220", [900, 201]],
    ["scrub", "dead.letters", "M800 157C830 302 890 302 963 302", [855, 275]],
    ["intake", "dead.letters", "M320 157C320 302 370 328 440 328H963", [545, 333]],
  ],
};
const NARROW = {
  box: [360, 580],
  topic: 136,
  nodes: {
    "hl7.raw": [180, 34], intake: [180, 136], notes: [92, 246], "patient.updates": [268, 246], scrub: [180, 356],
    "notes.scrubbed": [92, 460], patients: [268, 460], "phi.audit": [92, 550], "dead.letters": [268, 550],
  },
  edges: [
    ["hl7.raw", "intake", "M180 60V103", [180, 88]],
    ["intake", "notes", "M150 162C150 192 92 186 92 214", [98, 190]],
    ["intake", "patient.updates", "M210 162C210 192 268 186 268 214", [262, 190]],
    ["notes", "scrub", "M92 272C92 302 150 296 150 324", [98, 304]],
    ["patient.updates", "scrub", "M268 272C268 302 210 296 210 324", null],
    ["scrub", "notes.scrubbed", "M150 382C150 410 92 400 92 428", [98, 410]],
    ["scrub", "patients", "M210 382C210 410 268 400 268 428", null],
    ["scrub", "phi.audit", "M174 382V480C174 506 120 492 112 519", [124, 508]],
    ["scrub", "dead.letters", "M186 382V480C186 506 240 492 248 519", [236, 508]],
    ["intake", "dead.letters", "M242 136H350V550H340", [326, 340]],
  ],
};
// Where scrub writes whole messages as well (setting rebuild_messages).
const REBUILDING = new Map([
  [WIDE, {
    nodes: { "notes.scrubbed": [1045, 34], "hl7.scrubbed": [1045, 102], patients: [1045, 170], "phi.audit": [1045, 238] },
    edges: [
      ["scrub", "notes.scrubbed", "M837 112C900 112 900 34 963 34", [888, 56]],
      ["scrub", "hl7.scrubbed", "M837 124C900 124 900 102 963 102", [925, 93]],
      ["scrub", "patients", "M837 136C900 136 900 170 963 170", null],
      ["scrub", "phi.audit", "M837 148C900 148 900 238 963 238", [888, 222]],
    ],
  }],
  [NARROW, {
    box: [360, 670],
    nodes: { "hl7.scrubbed": [268, 460], patients: [92, 550], "phi.audit": [268, 550], "dead.letters": [180, 640] },
    edges: [
      ["scrub", "hl7.scrubbed", "M210 382C210 410 268 400 268 428", [262, 410]],
      ["scrub", "patients", "M170 382V480C170 506 120 492 112 519", null],
      ["scrub", "phi.audit", "M190 382V480C190 506 240 492 248 519", [240, 508]],
      ["scrub", "dead.letters", "M180 382V606", [206, 594]],
      ["intake", "dead.letters", "M242 136H350V640H256", [326, 340]],
    ],
  }],
].map(([base, { box = base.box, nodes, edges }]) => {
  const others = base.edges.filter(([from, to]) => !edges.some((e) => e[0] === from && e[1] === to));
  return [base, { ...base, box, nodes: { ...base.nodes, ...nodes }, edges: [...others, ...edges] }];
}));
const STAGES = ["intake", "scrub"];
const RANK = ["OK", "WARN", "STALL", "STOP"];
const BAD = ["STALL", "STOP"];
const PHI = ["hl7.raw", "notes", "patient.updates", "patients", "dead.letters"];
// No audit event counts the updates that scrub has folded: such an edge flows when updates are written and scrub reads them.
const UNCOUNTED = ["patient.updates scrub", "scrub patients"];
const SECONDS_BEHIND = 5;
const ARROW = "M0 -4.5L7 0L0 4.5";

/** Build the diagram once for each layout; afterwards update only its numbers. */
export function flowDiagram(host) {
  let layout = null;
  let parts = null;
  return (figures) => {
    const base = matchMedia("(max-width: 36rem)").matches ? NARROW : WIDE;
    const isRebuilding = figures.flow.edges.some((e) => e.to === "hl7.scrubbed" && e.hour > 0);
    const wanted = isRebuilding ? REBUILDING.get(base) : base;
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
  for (const name of UNCOUNTED) rates.set(name, folded(figures, rates));
  for (const { from, to, pulse, label } of edges) {
    const name = `${from} ${to}`;
    const value = rates.get(name) ?? 0;
    pulse.setAttribute("visibility", value > 0 ? "visible" : "hidden");
    pulse.setAttribute("stroke-width", (2.5 + Math.log10(1 + value)).toFixed(1));
    if (label) {
      label.textContent = rate(value);
      label.classList.toggle("zero", !value);
    }
  }
  for (const { name, second, group } of nodes) {
    annotate(second, name, figures);
    if (STAGES.includes(name)) group.dataset.state = stateOf(lagsOf(figures, name));
  }
  const rateTexts = figures.flow.edges.map((e) => `${e.from} to ${e.to} ${rate(e.rate)}`);
  about.textContent = `Records per second: ${rateTexts.join("; ")}.`;
}

// The updates a second that scrub folds: those that are written, unless they pile up before it.
function folded(figures, rates) {
  const written = rates.get("intake patient.updates") ?? 0;
  const waiting = figures.lag.partitions.filter((p) => p.topic === "patient.updates");
  const behind = waiting.reduce((sum, p) => sum + p.records, 0);
  const stopped = BAD.includes(stateOf(waiting));
  const busy = figures.flow.edges.some((e) => e.from === "scrub" && e.rate > 0);
  return !stopped && (busy || behind <= written * SECONDS_BEHIND) ? written : 0;
}

const lagsOf = (figures, stage) => figures.lag.partitions.filter((p) => !p.own && p.group.endsWith(`-${stage}`));
const stateOf = (lags) => RANK[Math.max(0, ...lags.map((p) => RANK.indexOf(p.state)))];

const READER = { "hl7.raw": "-intake", notes: "-scrub", "patient.updates": "-scrub" };
const WORDS = { patients: "changelog", "notes.scrubbed": "no PHI", "hl7.scrubbed": "no PHI", "phi.audit": "no text", "dead.letters": "restricted" };
const ABOUT = {
  "patient.updates": "What a message says about its patient. Every message that names a patient gives one, notes included; a site's own feed may write here, too.",
  patients: "A compacted topic, the changelog of scrub's table: everything known of each patient. Scrub alone writes it.",
  "phi.audit": "What was removed where, by which detector; no text. Restricted, since it contains times.",
  "dead.letters": "Records that can't be processed, unchanged. Restricted to those who may see the originals.",
  "notes.scrubbed": "The published notes, without PHI and times.",
  "hl7.scrubbed": "The published messages, rebuilt without PHI and times: HL7 v2, FHIR, C-CDA.",
};

function annotate(second, name, figures) {
  if (name in WORDS) {
    second.textContent = WORDS[name];
  } else if (name in READER) {
    const lags = figures.lag.partitions.filter((p) => p.topic === name && p.group.endsWith(READER[name]));
    const records = lags.reduce((sum, p) => sum + p.records, 0);
    const worst = stateOf(lags);
    second.textContent = lags.length ? (records ? `${whole(records)} ${worst === "OK" ? "behind" : worst}` : "no lag") : "–";
    second.dataset.state = worst;
  } else {
    const took = figures.latency.minute[name].p50;
    const workers = figures.lag.workers?.[name];
    const idle = took === null ? "idle" : `p50 ${age(took / 1000)}`;
    const worst = stateOf(lagsOf(figures, name));
    second.textContent = workers === 0 ? "no worker" : BAD.includes(worst) ? worst : idle;
  }
}
