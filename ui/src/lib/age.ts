export type Age = "today" | "yesterday" | "week" | "month" | "older";

const DAY = 86_400;

/** Sorted things into heaps by age, newest first; heaps without anything are left out. */
export function byAge<T extends { updatedAt: number }>(
  items: readonly T[],
  nowSeconds: number,
): { age: Age; items: T[] }[] {
  const midnight = new Date(nowSeconds * 1000);
  midnight.setHours(0, 0, 0, 0);
  const today = midnight.getTime() / 1000;
  const heaps: { age: Age; items: T[] }[] = [];
  for (const item of items) {
    const age = ageOf(item.updatedAt, today);
    const last = heaps.at(-1);
    if (last?.age === age) last.items.push(item);
    else heaps.push({ age, items: [item] });
  }
  return heaps;
}

function ageOf(at: number, today: number): Age {
  if (at >= today) return "today";
  if (at >= today - DAY) return "yesterday";
  if (at >= today - 7 * DAY) return "week";
  if (at >= today - 30 * DAY) return "month";
  return "older";
}
