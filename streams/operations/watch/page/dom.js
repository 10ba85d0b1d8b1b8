// Helpers: elements, numbers, times.  Text is inserted as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

export const el = (name, attributes = {}, ...children) =>
  filled(document.createElement(name), attributes, children);

export const svg = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

export const whole = (n) => Math.round(n).toLocaleString("en");

export function rate(n) {
  if (n === null || n === undefined) return "–";
  if (n === 0) return "0/s";
  return `${n < 10 ? n.toFixed(1) : whole(n)}/s`;
}

/** Milliseconds with two or three digits: 640 ms, 1.24 s, 3.5 min. */
export function span(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  if (ms < 5400000) return `${(ms / 60000).toFixed(1)} min`;
  return `${(ms / 3600000).toFixed(1)} h`;
}

export const age = (seconds) =>
  seconds === null || seconds === undefined ? "–" : seconds === 0 ? "0 s" : span(seconds * 1000);

export function clock(seconds, width) {
  const at = new Date(seconds * 1000);
  const two = (n) => String(n).padStart(2, "0");
  const short = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return width < 60 ? `${short}:${two(at.getSeconds())}` : short;
}

export const state = (value, text = value) => el("span", { class: "state", "data-state": value }, text);

/** Replace the rows of a table's body, unless they are unchanged. */
export function rows(table, cells, empty) {
  const content = JSON.stringify(cells);
  if (table.dataset.content === content) return;
  table.dataset.content = content;
  const columns = table.tHead.rows[0].cells;
  const made = cells.map((row) => el("tr", {}, row.map((cell, n) => make(cell, n, columns[n]))));
  if (!made.length) made.push(el("tr", {}, el("td", { colspan: columns.length, class: "none" }, empty)));
  table.tBodies[0].replaceChildren(...made);
}

function make(cell, n, column) {
  const { text = cell, as = null, state: value = null, link = null, note = null } = cell !== null && typeof cell === "object" ? cell : {};
  // On a narrow screen each cell shows the name of its column.
  const label = { "data-label": column.textContent };
  const kind = n === 0 ? ["th", { scope: "row", class: as }] : ["td", { class: column.className || as, ...label }];
  const shown = value === null ? String(text) : state(value, String(text));
  return el(kind[0], kind[1], link === null ? shown : el("a", { href: link }, shown), note === null ? null : el("span", { class: "note" }, note));
}
