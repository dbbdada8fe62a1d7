// Before anything is painted: the colours of last time, so that a dark window does not begin with a white flash. A file of
// its own and not a module, because only that comes before the first picture, and the page's policy forbids inline scripts.
// What it reads is written by src/app/appearance.ts.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("plimsoll.theme");
  } catch {
    // Storage may be forbidden; the system's preference is a good first guess.
  }
  const dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
