import type { Archive, CompactionLine, CompactionMode, ContextView, Message } from "@/wire/wire";

import type { CallTable } from "./calls";
import { refuse } from "./refuse";
import type { World } from "./world";

const WINDOW = 8_192;
const THRESHOLD = 6_144;

type ContextCalls = Pick<
  CallTable,
  | "context/read"
  | "context/plan"
  | "context/compact"
  | "context/undo"
  | "context/setMode"
  | "context/expand"
  | "context/search"
  | "context/report"
>;

/** The context of scripted conversations: four characters are a token, and a compaction stands for all but the last answer. */
export function contextCalls(world: World): ContextCalls {
  const lines = new Map<string, CompactionLine[]>();
  const modes = new Map<string, CompactionMode>();

  function messages(id: string): Message[] {
    const found = world.conversations.find((one) => one.id === id);
    return found ? found.messages : refuse("notFound", ["newConversation"]);
  }
  const archive = (of: Message[]): Archive => ({
    rows: of.map((one) => ({
      id: `${one.id}/0`,
      kind: one.role === "user" ? ("user" as const) : ("answer" as const),
      text: one.text,
      archived: true,
    })),
  });
  const tokens = (of: Message[]) => of.reduce((sum, one) => sum + Math.ceil(one.text.length / 4) + 4, 0);
  const old = (of: Message[]) => of.slice(0, -2);

  function view(id: string): ContextView {
    const all = messages(id);
    const own = lines.get(id) ?? [];
    const after = own.at(-1)?.afterTokens;
    const count = after ?? tokens(all);
    return {
      conversation: id,
      reading:
        all.length === 0 ? { kind: "unknown" } : { kind: "anchored", tokens: count, error: 12, ageS: 4 },
      window: WINDOW,
      threshold: THRESHOLD,
      mode: modes.get(id) ?? "automatic",
      compacting: false,
      pending: false,
      imagePrice: 1_024,
      compactions: own,
    };
  }
  function changed(id: string): ContextView {
    world.emit({ type: "contextChanged", conversation: id, compacting: false });
    return view(id);
  }

  return {
    "context/read": ({ conversation }) => view(conversation),
    "context/plan": ({ conversation }) => {
      const all = messages(conversation);
      const gone = old(all);
      if (gone.length === 0) return { why: "nothingToCut", keep: archive(all).rows };
      const keep = archive(all.slice(-2)).rows;
      return {
        plan: {
          summarise: gone.map((one) => `${one.id}/0`),
          keep: keep.map((one) => one.id),
          notes: [],
          before: tokens(all),
          after: tokens(all.slice(-2)) + 120,
          squeezed: false,
        },
        keep,
      };
    },
    "context/compact": ({ conversation }) => {
      const all = messages(conversation);
      const gone = old(all);
      const last = gone.at(-1);
      if (!last) return { outcome: "noOp", context: view(conversation) };
      lines.set(conversation, [
        {
          id: "k1",
          madeAt: 1_796_000_000,
          rows: gone.length,
          notes: 0,
          after: last.id,
          summary: "Tides were explained: the moon pulls the water.",
          beforeTokens: tokens(all),
          afterTokens: tokens(all.slice(-2)) + 120,
          by: "smollm2-135m:Q4_1",
          forked: true,
        },
      ]);
      return { outcome: "committed", context: changed(conversation) };
    },
    "context/undo": ({ conversation }) => {
      lines.delete(conversation);
      return changed(conversation);
    },
    "context/setMode": ({ conversation, mode }) => {
      modes.set(conversation, mode);
      return changed(conversation);
    },
    "context/expand": ({ conversation }) => archive(old(messages(conversation))),
    "context/search": ({ conversation, words }) =>
      archive(messages(conversation).filter((one) => one.text.toLowerCase().includes(words.toLowerCase()))),
    "context/report": () => ({ schema: 1, about: "", steps: [] }),
  };
}
