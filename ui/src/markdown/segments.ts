/** A stretch of prose, or a fenced block of code at the left edge. */
export type Segment =
  | { kind: "prose"; text: string }
  | { kind: "code"; language: string; code: string; closed: boolean };

const OPENING = /^(`{3,}|~{3,})[ \t]*([^\s`]*)[^`\n]*$/gm;

/**
 * Cuts a text at its fenced blocks, so that a growing block is not read again as Markdown with every piece
 * that comes: a listing of thousands of lines then costs a frame no more than a short one. Fences inside
 * lists and quotations are indented or marked and stay where they are.
 */
export function segments(text: string): Segment[] {
  const out: Segment[] = [];
  let from = 0;
  OPENING.lastIndex = 0;
  for (let open = OPENING.exec(text); open !== null; open = OPENING.exec(text)) {
    const [line, fence = "", language = ""] = open;
    const start = open.index + line.length + 1;
    // The line may still grow: until it has ended, nobody knows the language.
    if (start > text.length) break;
    const end = closing(text, start, fence);
    if (open.index > from) pushProse(out, text.slice(from, open.index));
    out.push({
      kind: "code",
      language,
      code: text.slice(start, end ? Math.max(start, end.at - 1) : text.length),
      closed: end !== undefined,
    });
    from = end ? end.after : text.length;
    OPENING.lastIndex = from;
  }
  if (from < text.length) pushProse(out, text.slice(from));
  return out;
}

function pushProse(out: Segment[], text: string): void {
  if (text.trim() !== "") out.push({ kind: "prose", text });
}

/** Where the line that closes a fence begins, and where the text goes on behind it. */
function closing(text: string, from: number, fence: string): { at: number; after: number } | undefined {
  let at = text.indexOf(fence, from);
  while (at !== -1) {
    const lineEnd = text.indexOf("\n", at);
    const line = text.slice(at, lineEnd === -1 ? text.length : lineEnd);
    const alone = line.replaceAll(fence.charAt(0), "").trim() === "";
    if (alone && (at === from || text.charAt(at - 1) === "\n")) {
      return { at, after: lineEnd === -1 ? text.length : lineEnd + 1 };
    }
    at = text.indexOf(fence, at + fence.length);
  }
  return undefined;
}
