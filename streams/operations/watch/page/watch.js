// The page: receives the server's events and updates every part.

import "./theme.js";
import { lines, stacked } from "./charts.js";
import { age, byId, clock, el, rate, rows, span, state, svg, whole } from "./dom.js";
import { flowDiagram } from "./flow.js";

const RANK = ["OK", "WARN", "STALL", "STOP"];
const KINDS = ["NAME", "DATE", "LOCATION", "CONTACT", "ID", "AGE", "PROFESSION"];
const NAMES = { ID: "ID" };
const SILENT_MS = 5000;
const view = { window: "minute", figures: null, open: new Set(), at: 0, notes: [], shown: 0, status: "" };
const drawFlow = flowDiagram(byId("flow"));

// --- window ----------------------------------------------------------------------

byId("windows").addEventListener("change", (event) => {
  view.window = event.target.value;
  render();
});
for (const query of ["(max-width: 36rem)", "(max-width: 60rem)"]) {
  matchMedia(query).addEventListener("change", render);
}

// --- parts -----------------------------------------------------------------------

function headline(f, w) {
  // A message waits once before intake; before scrub it is a note, and an update that would count it twice.
  const path = f.lag.partitions.filter((p) => !p.own && p.topic !== "patient.updates");
  const lag = path.reduce((sum, p) => sum + p.records, 0);
  const oldest = Math.max(0, ...path.map((p) => p.seconds ?? 0));
  const took = f.latency[w].scrub;
  const published = f.flow.edges.find((e) => e.to === "notes.scrubbed");
  const notes = published[w];
  const per = notes ? (f.phi[w].total / notes).toFixed(1) : "–";
  const cells = [
    ["Notes published", rate(published.rate).replace("/s", ""), "per second", `${whole(notes)} in the last ${w}`],
    ["Latency, p50", ...parted(span(took.p50)), `p99 ${span(took.p99)}`],
    ["Lag", whole(lag), "waiting", lag ? `oldest ${age(oldest)}${catchUp(f, lag)}` : "messages and notes"],
    ["PHI removed", whole(f.phi[w].total), "", `${per} per note`],
    ["Dead letters", whole(f["dead-letters"][w].total), "", refusals(f, w)],
  ];
  byId("headline").replaceChildren(...cells.map(([name, figure, unit, note]) => el("div", {},
    el("dt", {}, name),
    el("dd", {}, el("div", { class: "figure" }, figure, unit ? el("span", { class: "unit" }, ` ${unit}`) : null), el("div", { class: "note" }, note)))));
}

// How long the rest takes at the rate of now; what arrives meanwhile is not in it.
function catchUp(f, lag) {
  const done = f.flow.edges.find((e) => e.to === "notes.scrubbed").rate - (f.flow.arriving ?? 0);
  return done > 0 ? `, ${age(lag / done)} to catch up` : "";
}

function refusals(f, w) {
  const { total } = f["dead-letters"][w];
  const published = f.flow.edges.find((e) => e.to === "notes.scrubbed")[w];
  const part = total ? `${share(total / (total + published))} ` : "";
  const day = w === "day" ? "" : `, ${whole(f["dead-letters"].day.total)} in the last day`;
  return `${part}in the last ${w}${day}`;
}

const parted = (text) => (text.includes(" ") ? text.split(" ") : [text, ""]);

function overall(f) {
  const silent = Date.now() - view.at > SILENT_MS;
  let status;
  if (!f || silent) status = ["WAIT", f ? "No data from watch" : "Connecting"];
  else if (!f.ready) status = ["WAIT", "Restoring tables"];
  else if (f.lag.worst === null) status = ["WAIT", "Reading lag"];
  else status = summary(f);
  // A screen reader announces it only when it changes.
  if (view.status !== status.join()) byId("overall").replaceChildren(el("a", { href: "#h-alerts" }, state(...status)));
  view.status = status.join();
}

// The colour is that of the worst of lag and alerts; the text names both.
function summary(f) {
  const bad = f.lag.partitions.filter((p) => !p.own && p.state !== "OK");
  const { rows: alerts } = f.alerts;
  const firing = alerts.filter((a) => a.state === "firing");
  const paging = firing.some((a) => a.severity === "page") ? "STOP" : "OK";
  const worst = worse(bad.map((p) => p.state), [paging, alerts.length ? "WARN" : "OK"]);
  const parts = [];
  if (bad.length) parts.push(`${worse(bad.map((p) => p.state))}: ${[...new Set(bad.map((p) => p.topic))].join(", ")}`);
  if (firing.length) parts.push(`${counted(firing.length, "alert")} firing`);
  if (alerts.length > firing.length) parts.push(`${counted(alerts.length - firing.length, "alert")} pending`);
  return [worst, parts.join(" · ") || "All groups keep up, no alerts"];
}

const worse = (...states) => RANK[Math.max(0, ...states.flat().map((s) => RANK.indexOf(s)))];

const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// --- alerts ----------------------------------------------------------------------

const runbook = (name, text = name) => el("a", { href: `/runbook#${name.toLowerCase()}` }, text);
const AMOUNT = {
  PhistreamLagOld: lasting, PhistreamLatencyHigh: lasting,
  PhistreamDeadLetters: share, PhistreamJoinMisses: share,
  PhistreamLagStop: records, PhistreamLagStall: records, PhistreamLagGrows: records,
  PhistreamVersionsDiffer: (n) => `${n} setups`,
  PhistreamResidueRefused: whole, PhistreamOwnBug: whole, PhistreamForeignProducer: whole,
};
const SHOWN = 3;

function share(part) {
  return `${+(100 * part).toFixed(part < 0.1 ? 2 : 1)}%`;
}

function lasting(seconds) {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${+(seconds / 60).toFixed(1)} min`;
}

function records(n) {
  return `${whole(n)} waiting`;
}

function alerts(f) {
  const { rows: found, judged: known, not_judged: others } = f.alerts;
  const firing = found.filter((a) => a.state === "firing").length;
  byId("alerts-total").textContent = found.length
    ? `${firing} firing, ${found.length - firing} pending, of ${known.length} alerts evaluated here`
    : `none; ${known.length} alerts evaluated here`;
  rows(byId("alerts-table"), found.map((a) => [alertState(a), { link: `/runbook#${a.name.toLowerCase()}`, text: a.name, note: a.meaning },
    where(a), since(a, f.at)]), "No alerts");
  const content = others.join();
  const host = byId("alerts-others");
  if (host.dataset.content === content) return;
  host.dataset.content = content;
  byId("alerts-others-count").textContent = `${others.length} more are evaluated only by Prometheus`;
  host.replaceChildren(...others.map((name) => el("li", {}, runbook(name))));
}

function alertState(a) {
  if (a.state === "firing") return { state: a.severity === "page" ? "STOP" : "WARN", text: a.severity === "page" ? "page" : "ticket" };
  return { state: "WAIT", text: "pending" };
}

function where(a) {
  const amount = AMOUNT[a.name];
  const over = a.threshold && amount ? ` (limit ${amount(a.threshold)}${a.window ? ` over ${lasting(a.window)}` : ""})` : "";
  const subjects = amount === records ? byTopic(a.subjects) : a.subjects;
  const names = subjects.slice(0, SHOWN).map((s) => (amount ? `${s.subject}: ${amount(s.value)}` : s.subject));
  const rest = subjects.length - names.length;
  return names.join("; ") + (rest ? ` and ${rest} more` : "") + over;
}

// Partitions of a topic are one subject: notes[0], notes[1].
function byTopic(subjects) {
  const found = new Map();
  for (const { subject, value } of subjects) {
    const topic = subject.replace(/\[\d+\]$/, "");
    found.set(topic, (found.get(topic) ?? 0) + value);
  }
  return [...found].map(([subject, value]) => ({ subject, value }));
}

function since(a, now) {
  const first = Math.min(...a.subjects.map((s) => s.since));
  const lasted = lasting(Math.max(0, now - first));
  return a.state === "firing" ? lasted : `${lasted} of ${lasting(a.hold)}`;
}

function flow(f, w) {
  drawFlow(f);
  const table = byId("edges");
  table.querySelector("[data-window-name]").textContent = `Last ${w}`;
  const arriving = ["(gateways)", "hl7.raw", rate(f.flow.arriving), "–"];
  rows(table, [arriving, ...f.flow.edges.map((e) => [e.from, e.to, rate(e.rate), whole(e[w])])], "");
}

// Rows are updated in place, so that a button keeps its focus.
function lag(f) {
  const groups = new Map();
  for (const p of f.lag.partitions) {
    const key = `${p.group} ${p.topic}`;
    groups.set(key, [...(groups.get(key) ?? []), p]);
  }
  const own = ([, partitions]) => partitions[0].own;
  for (const [key, partitions] of [...groups].filter((g) => !own(g))) lagGroup(key, partitions);
  byId("lag-own").hidden = ![...groups].some(own);
  for (const [key, partitions] of [...groups].filter(own)) lagGroup(key, partitions);
  trend(f.lag.trend);
}

function trend({ starts, width, series }) {
  const most = (name) => Math.max(0, ...series[name].filter((n) => n !== null));
  lines(byId("lag-chart"), { starts, width, series, unit: whole, least: 10,
    label: `Lag over the last hour: at most ${whole(most("intake"))} records before intake, ${whole(most("scrub"))} before scrub` });
}

function lagGroup(key, partitions) {
  const id = `lag-${key.replace(/[^a-z0-9]/gi, "-")}`;
  const table = byId("lag");
  const body = byId(id) ?? table.insertBefore(el("tbody", { id }), partitions[0].own ? null : byId("lag-own"));
  const open = view.open.has(key);
  const records = partitions.reduce((sum, p) => sum + p.records, 0);
  const seconds = Math.max(...partitions.map((p) => p.seconds ?? 0));
  const worst = partitions.map((p) => p.state).reduce((a, b) => (RANK.indexOf(a) > RANK.indexOf(b) ? a : b));
  const [group, topic] = key.split(" ");
  lagRow(body, key, [el("span", {}, el("span", { class: "group" }, `${group} ← `), topic)], records, seconds, worst, open, "");
  const seen = new Set([key]);
  for (const p of open ? partitions : []) {
    const name = `${key} ${p.partition}`;
    const isOpen = view.open.has(name);
    seen.add(name);
    lagRow(body, name, [`partition ${p.partition}`], p.records, p.seconds, p.state, isOpen, "partition");
    if (isOpen) seen.add(detail(body, name, p));
  }
  for (const row of [...body.rows]) if (!seen.has(row.dataset.key)) row.remove();
}

function keyed(body, key, make) {
  const old = [...body.rows].find((row) => row.dataset.key === key);
  if (old) return old;
  const row = make();
  row.dataset.key = key;
  const after = [...body.rows].filter((r) => order(r.dataset.key, key) < 0).at(-1);
  if (after) after.after(row);
  else body.prepend(row);
  return row;
}

const order = (a, b) => a.localeCompare(b, "en", { numeric: true });

function lagRow(body, key, name, records, seconds, value, open, kind) {
  const row = keyed(body, key, () => {
    const button = el("button", { type: "button", class: "more", "aria-expanded": "false" }, ...name);
    button.addEventListener("click", () => {
      if (!view.open.delete(key)) view.open.add(key);
      lag(view.figures);
    });
    return el("tr", { class: kind || null }, el("th", { scope: "row" }, button),
      el("td", { class: "n" }), el("td", { class: "n" }), el("td"));
  });
  row.querySelector("button").setAttribute("aria-expanded", String(open));
  row.cells[1].textContent = whole(records);
  row.cells[2].textContent = age(seconds);
  if (row.cells[3].textContent !== value) row.cells[3].replaceChildren(state(value));
}

const MEANING = {
  OK: "keeps up",
  WARN: "processed, but the lag grows",
  STALL: "not processed, while the group commits on other partitions",
  STOP: "the group commits nothing while records wait",
};

function detail(body, name, p) {
  const key = `${name} detail`;
  const row = keyed(body, key, () => el("tr", { class: "detail" }, el("td", { colspan: 4 })));
  const fields = { Committed: whole(p.committed), "Last stable": whole(p.stable), State: MEANING[p.state] };
  row.cells[0].replaceChildren(el("dl", {}, Object.entries(fields).map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v)))));
  return key;
}

const UNTIL = { intake: "notes (intake)", scrub: "notes.scrubbed" };

function latency(f, w) {
  const here = f.latency[w];
  rows(byId("latency"), Object.entries(UNTIL).map(([stage, name]) => {
    const q = here[stage];
    return [name, span(q.p50), span(q.p90), span(q.p99), whole(q.count)];
  }), "");
  const pick = (name) => here.scrub.series.map((q) => q[name]);
  lines(byId("latency-chart"), { starts: here.starts, width: f.windows[w].width, series: { p99: pick("p99"), p50: pick("p50") },
    label: `Latency to notes.scrubbed over the last ${w}: p50 ${span(here.scrub.p50)}, p99 ${span(here.scrub.p99)}` });
}

function phi(f, w) {
  const here = f.phi[w];
  byId("phi-total").textContent = `${whole(here.total)} identifiers in the last ${w}`;
  stacked(byId("phi-chart"), { starts: here.starts, width: f.windows[w].width, series: here.series, kinds: KINDS,
    label: () => `Identifiers over the last ${w}, by kind: ${KINDS.map((k) => `${k} ${whole(sum(here.series[k]))}`).join(", ")}` });
  legend(here);
  labels(here);
  rows(byId("detectors"), Object.entries(here.detectors).map(([name, n]) => [name.endsWith("~") ? `${name.slice(0, -1)}, fuzzy match` : name, whole(n)]), "None yet");
  rows(byId("types"), byTitle(here).map(([title, n]) => [title, whole(n)]), "None yet");
  const { found, missing } = here.joins;
  const share = (n) => (found + missing ? `${whole(n)}  (${((100 * n) / (found + missing)).toFixed(1)}%)` : whole(n));
  rows(byId("joins"), [["found", share(found)], ["missing", share(missing)]], "");
}

// LOINC and HL7 table 0270 have codes for the same types.
function byTitle({ types, titles }) {
  const found = new Map();
  for (const [code, n] of Object.entries(types)) {
    const title = titles[code] ?? code;
    found.set(title, (found.get(title) ?? 0) + n);
  }
  return [...found].sort((a, b) => b[1] - a[1]);
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

function legend(here) {
  const host = byId("phi-legend");
  if (host.childElementCount) return;
  const names = KINDS.filter((kind) => kind in here.series);
  host.replaceChildren(...names.map((kind) => el("span", {}, el("i", { class: kind }), NAMES[kind] ?? kind.charAt(0) + kind.slice(1).toLowerCase())));
}

function labels(here) {
  const table = byId("labels");
  const found = Object.entries(here.labels).slice(0, 12);
  const most = Math.max(1, ...found.map(([, n]) => n));
  const content = JSON.stringify(found);
  if (table.dataset.content === content) return;
  table.dataset.content = content;
  const bar = (label, n) => svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: label.split(":")[0], width: ((100 * n) / most).toFixed(1), height: 8, rx: 1 }));
  const made = found.map(([label, n]) => el("tr", {}, el("th", { scope: "row" }, label), el("td", { class: "n" }, whole(n)), el("td", {}, bar(label, n))));
  table.tBodies[0].replaceChildren(...(made.length ? made : [el("tr", {}, el("td", { colspan: 3, class: "none" }, "None yet"))]));
}

function dead(f, w) {
  const here = f["dead-letters"][w];
  byId("dead-total").textContent = `${whole(here.total)} in the last ${w}`;
  stacked(byId("dead-chart"), { starts: here.starts, width: f.windows[w].width, series: { bar: here.series }, kinds: ["bar"],
    label: () => `Dead letters over the last ${w}: ${whole(here.total)}` });
  const reason = (code) => ({ text: code, as: "code", link: code === "other" ? null : `/runbook#${code}` });
  rows(byId("dead"), here.rows.map((r) => [r.stage, reason(r.code), whole(r.count)]), "None");
}

function versions(f) {
  rows(byId("versions"), f.versions.map((v) => [v.preset, v.policy,
    v.model === null ? "–" : `${v.model} ${v.model_version} (${v.sha256})`, v.version, { text: v.key_id, as: "code" }, whole(v.notes)]), "None yet");
}

function tables(f) {
  const row = (name, of, left, ready) => [name, of, left === null ? "–" : whole(left),
    ready ? { state: "OK", text: "restored" } : { state: "WARN", text: "restoring" }];
  const own = f.tables.watch.map((t) => row(t.table, t.of, t.remaining, t.ready));
  const workers = f.tables.workers.map((t) => (t.reachable
    ? row(t.worker, t.table, t.remaining, t.ready)
    : [t.worker, "–", "–", { state: "STOP", text: "no answer" }]));
  rows(byId("tables"), [...workers, ...own], "");
}

// --- the demo's notes --------------------------------------------------------------

async function fetchNotes() {
  const answer = await fetch("/api/notes");
  if (!answer.ok) return;
  view.notes = (await answer.json()).notes;
  byId("notes").hidden = view.notes.length === 0;
  if (view.notes.length && !byId("before").textContent) showNote(0);
}

function showNote(n) {
  view.shown = Math.min(Math.max(n, 0), view.notes.length - 1);
  const note = view.notes[view.shown];
  byId("before").replaceChildren(...marked(note.before, note.replacements.map((r) => [r.offsets[0], r.offsets[1], r.label])));
  byId("after").replaceChildren(...marked(note.after, note.replacements.map((r) => [r.offsets[2], r.offsets[3], r.label])));
  byId("which").textContent = `${view.shown + 1} of ${view.notes.length}, patient record ${note.join}`;
}

// Offsets count code points; strings count UTF-16 units.
function marked(text, places) {
  const points = [...text];
  const parts = [];
  let at = 0;
  for (const [start, end, label] of places) {
    parts.push(points.slice(at, start).join(""));
    parts.push(el("mark", { class: label.split(":")[0], title: label }, points.slice(start, end).join("")));
    at = end;
  }
  return [...parts, points.slice(at).join("")];
}

byId("older").addEventListener("click", () => showNote(view.shown + 1));
byId("newer").addEventListener("click", () => fetchNotes().then(() => showNote(view.shown - 1)));

// --- events ----------------------------------------------------------------------

function render() {
  const f = view.figures;
  overall(f);
  if (!f) return;
  const w = view.window;
  headline(f, w);
  alerts(f);
  flow(f, w);
  lag(f);
  latency(f, w);
  phi(f, w);
  dead(f, w);
  versions(f);
  tables(f);
  byId("updated").textContent = `As of ${clock(f.at, 1)}.`;
}

const events = new EventSource("/api/events");
events.addEventListener("figures", (event) => {
  const figures = JSON.parse(event.data);
  if (!figures.flow) return;
  view.figures = figures;
  view.at = Date.now();
  render();
});
setInterval(() => overall(view.figures), 1000);

const status = await (await fetch("/status")).json();
if (status.demo) {
  byId("promise").textContent = "A demo: the notes above are invented. Without --demo the page shows only counts and codes: no notes, names or keys.";
  await fetchNotes();
  setInterval(fetchNotes, 4000);
}
