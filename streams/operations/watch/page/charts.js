// Charts as plain SVG: stacked bars and lines over the buckets of a window.

import { clock, span, svg, whole } from "./dom.js";

const LEFT = 54;
const BOTTOM = 18;
const TOP = 8;

/** Stacked bars of several series; `kinds` are CSS classes. */
export function stacked(host, { starts, width, series, kinds, label }) {
  const totals = starts.map((_, n) => kinds.reduce((sum, kind) => sum + series[kind][n], 0));
  const paper = sheet(host, Math.max(4, ...totals), starts, width, whole, label(totals));
  const step = (paper.w - LEFT) / starts.length;
  starts.forEach((_, n) => {
    let below = 0;
    for (const kind of kinds) {
      const value = series[kind][n];
      if (!value) continue;
      const top = paper.y(below + value);
      paper.svg.append(svg("rect", { class: kind, x: (LEFT + n * step + 0.5).toFixed(1), y: top.toFixed(1),
        width: Math.max(1, step - 1.5).toFixed(1), height: Math.max(0.6, paper.y(below) - top).toFixed(1) }));
      below += value;
    }
  });
}

/** Lines of several series; null leaves a gap, a single point is a dot. */
export function lines(host, { starts, width, series, label, unit = span, least = 100 }) {
  const all = Object.values(series).flat().filter((v) => v !== null);
  const paper = sheet(host, Math.max(least, ...all), starts, width, unit, label);
  const step = (paper.w - LEFT) / starts.length;
  const x = (n) => LEFT + (n + 0.5) * step;
  for (const [kind, values] of Object.entries(series)) {
    let path = "";
    values.forEach((value, n) => {
      if (value === null) return;
      const isOpen = n > 0 && values[n - 1] !== null;
      const isAlone = !isOpen && (values[n + 1] ?? null) === null;
      if (isAlone) paper.svg.append(svg("circle", { class: kind, cx: x(n).toFixed(1), cy: paper.y(value).toFixed(1), r: 2 }));
      else path += `${isOpen ? "L" : "M"}${x(n).toFixed(1)} ${paper.y(value).toFixed(1)}`;
    });
    if (path) paper.svg.append(svg("path", { class: kind, d: path }));
  }
}

function sheet(host, most, starts, width, unit, label) {
  const w = Math.max(240, host.clientWidth || 600);
  const old = host.firstElementChild;
  const h = Math.max(60, old?.clientHeight || 136);
  const top = nice(most);
  const y = (value) => TOP + (1 - value / top) * (h - TOP - BOTTOM);
  const marks = h > 90 ? [0, top / 2, top] : [0, top];
  const paper = svg("svg", { viewBox: `0 0 ${w} ${h}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  for (const mark of marks) {
    paper.append(svg("line", { class: mark ? "grid" : "base", x1: LEFT, x2: w, y1: y(mark), y2: y(mark) }),
      svg("text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end" }, mark ? unit(mark) : "0"));
  }
  const last = starts.length - 1;
  for (const [n, anchor, at] of [[0, "start", LEFT], [Math.round(last / 2), "middle", (LEFT + w) / 2], [last, "end", w]]) {
    paper.append(svg("text", { x: at, y: h - 4, "text-anchor": anchor }, clock(starts[n], width)));
  }
  host.replaceChildren(paper);
  return { svg: paper, w, y };
}

function nice(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 5, 10].map((step) => step * power).find((step) => step >= most);
}
