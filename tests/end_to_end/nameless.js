// Whatever a screen reader would announce without a name.
() => {
  const named = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.innerText?.trim();
  const bad = [];
  const must = (selector, test, why) => {
    for (const e of document.querySelectorAll(selector)) if (!test(e)) bad.push(`${why}: ${e.outerHTML.slice(0, 80)}`);
  };
  must("button", named, "button");
  must("table", (e) => e.caption?.innerText.trim(), "table without caption");
  must("thead th", (e) => e.scope === "col" && e.innerText.trim(), "column without name");
  must("tbody th", (e) => e.scope === "row", "row head without scope");
  must("section", named, "section");
  must("svg", (e) => e.getAttribute("aria-hidden") === "true" || (e.getAttribute("role") === "img" && named(e)), "picture");
  must("img", (e) => e.hasAttribute("alt"), "image");
  must("input", (e) => e.labels?.length, "input");
  must("fieldset", (e) => e.querySelector("legend"), "fieldset");
  must("[tabindex='0']", (e) => e.getAttribute("role") && named(e), "focusable");
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((e) => Number(e.tagName[1]));
  levels.forEach((level, n) => { if (n && level > levels[n - 1] + 1) bad.push("a heading level is left out"); });
  return bad;
}
