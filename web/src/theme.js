// Light and dark: what the system says, until the reader chooses.

/** Sets the theme; `changed` is called whenever it is another one. */
export function makeTheme(button, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const apply = (theme) => {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "☀" : "☾";
    button.setAttribute("aria-label", theme === "dark" ? "Light theme" : "Dark theme");
    changed();
  };
  let isChosen = false;
  system.addEventListener("change", () => !isChosen && apply(system.matches ? "dark" : "light"));
  button.addEventListener("click", () => {
    isChosen = true;
    apply(root.dataset.theme === "dark" ? "light" : "dark");
  });
  return () => apply(system.matches ? "dark" : "light");
}
