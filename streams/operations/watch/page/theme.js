// Light or dark: the preference of the system until the user chooses.

function stored(value) {
  try {
    if (value !== undefined) localStorage.setItem("theme", value);
    return localStorage.getItem("theme");
  } catch {
    return null; // no storage: the choice lasts until the page is closed
  }
}

const button = document.getElementById("theme");

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  button?.setAttribute("aria-pressed", String(name === "dark"));
}

setTheme(stored() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
button?.addEventListener("click", () => {
  const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  setTheme(name);
  stored(name);
});
