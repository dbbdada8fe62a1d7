import {
  createHighlighterCore,
  type GrammarState,
  type HighlighterCore,
  type ThemeRegistrationRaw,
} from "@shikijs/core";
import { createJavaScriptRegexEngine } from "@shikijs/engine-javascript";

import { type Grammar, loadGrammar } from "./languages";

/** A run of characters with one meaning; the style sheet gives it its colour. */
export interface Run {
  text: string;
  kind: string;
}

/*
 * The theme speaks in markers instead of colours, so that one pass serves day and night and a colour is a
 * token of the style sheet like any other.
 */
const KINDS: Record<string, string> = {
  "#000001": "tok-c",
  "#000002": "tok-k",
  "#000003": "tok-s",
  "#000004": "tok-n",
  "#000005": "tok-f",
  "#000006": "tok-t",
};

const theme: ThemeRegistrationRaw = {
  name: "plimsoll",
  type: "light",
  settings: [
    { settings: { foreground: "#000000", background: "#ffffff" } },
    { scope: ["comment", "punctuation.definition.comment"], settings: { foreground: "#000001" } },
    {
      scope: [
        "keyword",
        "storage",
        "keyword.operator.new",
        "keyword.operator.expression",
        "variable.language",
        "markup.heading",
      ],
      settings: { foreground: "#000002" },
    },
    { scope: ["keyword.operator", "punctuation", "meta.brace"], settings: { foreground: "#000000" } },
    { scope: ["string", "markup.inserted", "markup.inline.raw"], settings: { foreground: "#000003" } },
    {
      scope: [
        "constant.numeric",
        "constant.language",
        "constant.character",
        "markup.deleted",
        "support.constant",
      ],
      settings: { foreground: "#000004" },
    },
    {
      scope: [
        "entity.name.function",
        "support.function",
        "meta.function-call.generic",
        "entity.name.tag",
        "entity.name.section",
      ],
      settings: { foreground: "#000005" },
    },
    {
      scope: [
        "entity.name.type",
        "entity.name.class",
        "support.type",
        "support.class",
        "entity.other.attribute-name",
        "storage.type.annotation",
        "meta.decorator",
      ],
      settings: { foreground: "#000006" },
    },
  ],
};

let core: Promise<HighlighterCore> | undefined;
const ready = new Map<Grammar, HighlighterCore>();
const loading = new Map<Grammar, Promise<void>>();

/** The highlighter when it already knows the language: then code is coloured at first sight. */
export function readyFor(grammar: Grammar): HighlighterCore | undefined {
  return ready.get(grammar);
}

export async function prepare(grammar: Grammar): Promise<void> {
  const under = loading.get(grammar);
  if (under) return under;
  const work = (async () => {
    // The JavaScript engine needs no WebAssembly, so the page's policy can stay at script-src 'self'.
    core ??= createHighlighterCore({
      themes: [theme],
      langs: [],
      engine: createJavaScriptRegexEngine({ forgiving: true }),
    });
    const [highlighter, languages] = await Promise.all([core, loadGrammar(grammar)]);
    await highlighter.loadLanguage(...languages);
    ready.set(grammar, highlighter);
  })();
  loading.set(grammar, work);
  return work;
}

/** Longer lines stay plain: a minified file must not stop the page. */
const LINE_MAX = 1000;

/**
 * The lines of a block that grows at its end. Each finished line is coloured once and keeps its identity, so
 * that a long block costs no more a frame than a short one.
 */
export class GrowingLines {
  private grammar: Grammar | undefined;
  private done: { line: string; runs: Run[] }[] = [];
  private state: GrammarState | undefined;
  private waiting = new Map<number, { line: string; runs: Run[] }>();

  /** At most `most` new lines are coloured in one go; the others stay plain until the next. */
  of(text: string, grammar: Grammar | undefined, most: number): { lines: Run[][]; whole: boolean } {
    const lines = text.split("\n");
    const last = lines.pop() ?? "";
    const grown =
      this.grammar === grammar &&
      this.done.length <= lines.length &&
      this.done.every((one, index) => one.line === lines[index]);
    if (!grown) {
      this.grammar = grammar;
      this.done = [];
      this.state = undefined;
    }
    const rest = lines.slice(this.done.length);
    const fresh = rest.splice(0, grammar ? most : rest.length);
    if (fresh.length > 0) {
      const { runs, state } = this.colour(fresh);
      fresh.forEach((line, index) => this.done.push({ line, runs: runs[index] ?? plain(line) }));
      this.state = state;
    }
    const done = this.done.map((one) => one.runs);
    if (rest.length > 0) {
      const waiting = rest.map((line, index) => this.uncoloured(line, done.length + index));
      return { lines: [...done, ...waiting, plain(last)], whole: false };
    }
    this.waiting.clear();
    return { lines: [...done, this.colour([last]).runs[0] ?? plain(last)], whole: true };
  }

  /** A line that waits for its colours keeps its identity meanwhile. */
  private uncoloured(line: string, index: number): Run[] {
    const known = this.waiting.get(index);
    if (known?.line === line) return known.runs;
    const runs = plain(line);
    this.waiting.set(index, { line, runs });
    return runs;
  }

  private colour(lines: readonly string[]): { runs: Run[][]; state: GrammarState | undefined } {
    const highlighter = this.grammar && ready.get(this.grammar);
    if (!highlighter || !this.grammar) return { runs: lines.map(plain), state: undefined };
    const { tokens, grammarState } = highlighter.codeToTokens(lines.join("\n"), {
      lang: this.grammar,
      theme: "plimsoll",
      tokenizeMaxLineLength: LINE_MAX,
      ...(this.state ? { grammarState: this.state } : {}),
    });
    const runs = tokens.map((line) => {
      const out: Run[] = [];
      for (const token of line) {
        const kind = KINDS[(token.color ?? "").toLowerCase()] ?? "";
        const before = out.at(-1);
        if (before && (before.kind === kind || token.content.trim() === "")) before.text += token.content;
        else out.push({ text: token.content, kind });
      }
      return out;
    });
    return { runs, state: grammarState };
  }
}

function plain(line: string): Run[] {
  return [{ text: line, kind: "" }];
}
