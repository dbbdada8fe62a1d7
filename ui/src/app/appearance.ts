import type { Settings } from "@/wire/wire";

/** What `public/first-colours.js` reads before the first picture of the next start. */
const REMEMBERED = "plimsoll.theme";

export function applyAppearance(settings: Settings): () => void {
  const theme = settings.theme ?? "system";
  try {
    localStorage.setItem(REMEMBERED, theme);
  } catch {
    // Only the first picture of the next start is at stake.
  }
  setTheme(theme);
  document.documentElement.dataset["density"] = settings.density ?? "comfortable";
  if (theme !== "system") return () => {};
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => setTheme("system");
  dark.addEventListener("change", follow);
  return () => dark.removeEventListener("change", follow);
}

function setTheme(theme: string): void {
  const dark =
    theme === "dark" || (theme !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
}
