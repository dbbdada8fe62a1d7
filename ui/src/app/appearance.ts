import type { Settings } from "@/wire/wire";

const REMEMBERED = "plimsoll.theme";

/** Before the settings are read: as last time, so that the first picture is not of the wrong colour. */
export function firstAppearance(): void {
  let theme: string | null = null;
  try {
    theme = localStorage.getItem(REMEMBERED);
  } catch {
    // Storage may be forbidden; the system's preference is a good first guess.
  }
  setTheme(theme ?? "system");
}

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
