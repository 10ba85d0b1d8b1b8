// What scrolls can be reached by the keyboard, and has a name.
function reachable() {
  for (const area of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    area.tabIndex = area.scrollWidth > area.clientWidth ? 0 : -1;
    if (area.tabIndex === 0) {
      area.setAttribute("role", "region");
      area.setAttribute("aria-label", area.matches("code") ? "Code" : "Table");
    }
  }
}
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
