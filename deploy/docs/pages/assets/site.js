// What scrolls can be reached by the keyboard, and has a name.
const SCROLLS = ".md-typeset__scrollwrap, .md-typeset pre > code";

function reachable() {
  for (const area of document.querySelectorAll(SCROLLS)) {
    if (area.scrollWidth > area.clientWidth) {
      area.tabIndex = 0;
      area.setAttribute("role", "region");
      area.setAttribute("aria-label", area.matches("code") ? "Code" : "Table");
    } else {
      area.removeAttribute("tabindex");
      area.removeAttribute("role");
      area.removeAttribute("aria-label");
    }
  }
}

document.querySelector(".md-search").setAttribute("aria-label", "Search");
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
