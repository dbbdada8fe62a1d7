/** The whole sentences after `from`, without Markdown's marks, and where they end. */
export function spoken(text: string, from: number): { sentences: string; upTo: number } {
  const rest = text.slice(from);
  let end = 0;
  for (const match of rest.matchAll(/[.!?:](?=\s)|\n\n/g)) end = match.index + match[0].length;
  if (end === 0) return { sentences: "", upTo: from };
  const sentences = rest
    .slice(0, end)
    .replace(/```[\s\S]*?(```|$)/g, " ")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^[\s>#*+-]+/gm, "")
    .replace(/[*_`|#]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
  return { sentences, upTo: from + end };
}
