import type { Branch, Conversation, Message, Snip, TurnStats } from "@/wire/wire";

import type { CallTable } from "./calls";
import { answerMessage, freshId, userMessage } from "./data";
import { refuse } from "./refuse";
import { CODE, REASONING, TIDES } from "./texts";
import type { World } from "./world";

type TalkCall = Extract<
  keyof CallTable,
  `conversations/${string}` | `turn/${string}` | "tools/answer" | "models/setSettings"
>;

const now = () => Math.floor(Date.now() / 1000);

/** Every message there is, each with the one that it follows. */
function tree(world: World, one: Conversation): Message[] {
  const known = world.trees.get(one.id);
  if (known) return known;
  const all = one.messages.map((message, at) => {
    const parent = one.messages[at - 1]?.id;
    return parent === undefined ? message : { ...message, parent };
  });
  world.trees.set(one.id, all);
  return all;
}

/** Where a message stands among those in its place. */
function branchOf(all: readonly Message[], message: Message): Branch | undefined {
  const together = all.filter((one) => one.parent === message.parent && one.role === message.role);
  const at = together.findIndex((one) => one.id === message.id);
  if (together.length < 2) return undefined;
  const [before, after] = [together[at - 1]?.id, together[at + 1]?.id];
  return {
    place: at + 1,
    of: together.length,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  };
}

/** The branch that ends in a message. */
function pathTo(all: readonly Message[], end: string | undefined): Message[] {
  const path: Message[] = [];
  for (let id = end; id !== undefined;) {
    const message = all.find((one) => one.id === id);
    if (!message) break;
    const branch = branchOf(all, message);
    const { branch: _old, ...rest } = message;
    path.unshift(branch ? { ...rest, branch } : rest);
    id = message.parent;
  }
  return path;
}

function snippet(text: string, words: readonly string[]): Snip[] {
  const at = text.toLowerCase().indexOf(words[0] ?? "");
  if (at < 0) return [];
  const end = at + (words[0]?.length ?? 0);
  return [
    { text: `${at > 24 ? "…" : ""}${text.slice(Math.max(0, at - 24), at)}`, hit: false },
    { text: text.slice(at, end), hit: true },
    { text: `${text.slice(end, end + 48)}…`, hit: false },
  ];
}

export function talkCalls(world: World): Pick<CallTable, TalkCall> {
  const summary = ({ messages: _m, tools: _t, settings: _s, running: _r, ...rest }: Conversation) => rest;
  const listed = (trash: boolean) =>
    world.conversations
      .filter((one) => (one.deletedAt !== undefined) === trash)
      .toSorted((a, b) => b.updatedAt - a.updatedAt);
  const conversation = (id: string) => world.find(id) ?? refuse("notFound", ["newConversation"]);
  const idle = (id: string) => {
    const one = conversation(id);
    if (one.running !== undefined) refuse("busy", ["retry"]);
    return one;
  };

  /** Puts a turn behind a question that is in the tree. */
  function begin(one: Conversation, user: Message, text: string, model: string | undefined) {
    const all = tree(world, one);
    const turn = freshId("m");
    one.messages = pathTo(all, user.id);
    if (model) one.model = model;
    one.updatedAt = now();
    one.running = turn;
    const branch = branchOf([...all, { ...answerMessage("", now()), id: turn, parent: user.id }], {
      ...answerMessage("", now()),
      id: turn,
      parent: user.id,
    });
    world.changed(one);
    const shown = one.messages.at(-1) ?? user;
    world.emit({
      type: "turnStarted",
      conversation: one.id,
      turn,
      user: shown,
      ...(branch ? { branch } : {}),
    });
    if (!world.frozen) answer(world, one.id, turn, text);
    return { id: turn };
  }

  return {
    "conversations/list": ({ trash }) => ({ conversations: listed(trash).map(summary) }),
    "conversations/open": ({ id }) => conversation(id),
    "conversations/create": ({ model, settings }) => {
      const made = {
        id: freshId("c"),
        title: "",
        createdAt: now(),
        updatedAt: now(),
        tools: { on: false, folders: [], allowed: [] },
        settings: settings ?? {},
        messages: [],
        ...(model ? { model } : {}),
      };
      world.conversations.unshift(made);
      return made;
    },
    "conversations/rename": ({ id, title }) => {
      const one = conversation(id);
      one.title = title;
      world.changed(one);
      return {};
    },
    "conversations/delete": ({ id }) => {
      const one = conversation(id);
      one.deletedAt = now();
      world.changed(one);
      return {};
    },
    "conversations/restore": ({ id }) => {
      const one = conversation(id);
      delete one.deletedAt;
      world.changed(one);
      return {};
    },
    "conversations/emptyTrash": () => {
      const gone = listed(true);
      world.conversations = listed(false);
      return { conversations: gone.length };
    },
    "conversations/search": ({ words, trash }) => {
      const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
      const has = (text: string) => wanted.every((word) => text.toLowerCase().includes(word));
      const found = listed(trash).flatMap((one) => {
        const hits = tree(world, one).filter((message) => has(message.text));
        const inTitle = has(one.title);
        const message = hits.at(-1);
        if (!inTitle && !message) return [];
        return [
          {
            conversation: summary(one),
            inTitle,
            hits: hits.length,
            snippet: message ? snippet(message.text, wanted) : [],
            ...(message ? { message: message.id } : {}),
          },
        ];
      });
      return { found, more: false };
    },
    "conversations/show": ({ conversation: id, message }) => {
      const one = idle(id);
      const all = tree(world, one);
      let end = all.find((other) => other.id === message) ?? refuse("notFound", [], { message });
      for (;;) {
        const next = all.findLast((other) => other.parent === end.id);
        if (!next) break;
        end = next;
      }
      one.messages = pathTo(all, end.id);
      return one;
    },
    "conversations/settings": ({ id, model }) => ({
      own: id === undefined ? {} : conversation(id).settings,
      model: world.modelSettings.get(model) ?? {},
      advice: { temperature: 0.6, topP: 0.95, topK: 20 },
      takes: ["temperature", "topP", "topK", "minP", "seed", "replyMax"],
      thinking: model.startsWith("@") ? "effort" : "switch",
    }),
    "conversations/setSettings": ({ id, settings }) => {
      conversation(id).settings = settings;
      return {};
    },
    "models/setSettings": ({ model, settings }) => {
      world.modelSettings.set(model, settings);
      world.emit({ type: "settingsChanged" });
      return {};
    },
    "conversations/export": ({ id, words, save }) => {
      const one = conversation(id);
      const name = `${one.title || "conversation"}.${words ? "md" : "json"}`;
      const text = words ? one.messages.map((message) => message.text).join("\n\n") : JSON.stringify(one);
      return save ? { name, path: `/home/ada/Downloads/${name}` } : { name, text };
    },
    "conversations/import": ({ text }) => {
      if (!text.includes("plimsoll/conversation")) refuse("conversationBad", ["retry"]);
      const { title = "" } = JSON.parse(text) as { title?: string };
      const made: Conversation = {
        id: freshId("c"),
        title,
        createdAt: now(),
        updatedAt: now(),
        tools: { on: false, folders: [], allowed: [] },
        settings: {},
        messages: [],
      };
      world.conversations.unshift(made);
      world.changed(made);
      return made;
    },
    "conversations/setTools": ({ id, tools }) => {
      conversation(id).tools = tools;
      return {};
    },
    "tools/answer": () => ({}),
    "turn/start": ({ conversation: id, text, model, instead }) => {
      const one = idle(id);
      if (world.refusals > 0) {
        world.refusals -= 1;
        refuse("routeUnreachable", ["retry"]);
      }
      const all = tree(world, one);
      const parent =
        instead === undefined
          ? one.messages.at(-1)?.id
          : (all.find((message) => message.id === instead) ?? refuse("notFound", [])).parent;
      const user = { ...userMessage(text, now()), ...(parent === undefined ? {} : { parent }) };
      all.push(user);
      if (one.title === "") one.title = text.slice(0, 60);
      return begin(one, user, /code|python|function/i.test(text) ? CODE : TIDES, model);
    },
    "turn/again": ({ conversation: id, message, model }) => {
      const one = idle(id);
      const all = tree(world, one);
      const of = all.find((other) => other.id === message);
      const question = of?.role === "assistant" ? of.parent : of?.id;
      const user =
        message === undefined
          ? one.messages.findLast((other) => other.role === "user")
          : all.find((other) => other.id === question);
      if (!user) refuse("badRequest", []);
      return begin(one, user, TIDES, model);
    },
    "turn/stop": ({ conversation: id }) => {
      const one = conversation(id);
      if (one.running !== undefined) endTurn(world, id, one.running, "stopped");
      return {};
    },
  };
}

/** Reads the prompt, thinks a little, then writes word by word. */
export function answer(world: World, id: string, turn: string, text: string, wordsAtOnce = 1): void {
  const words = text.split(/(?<=\s)/);
  const thoughts = text === CODE ? REASONING.split(/(?<=\s)/) : [];
  const total = 1480;
  let read = 0;
  world.every(`turn ${id}`, 28, () => {
    if (read < total) {
      read = Math.min(total, read + 256);
      world.emit({ type: "promptRead", conversation: id, turn, done: read, total });
      return;
    }
    const thought = thoughts.shift();
    if (thought !== undefined) {
      grow(world, id, turn, { reasoning: thought });
      return;
    }
    const piece = words.splice(0, wordsAtOnce).join("");
    if (piece !== "") grow(world, id, turn, { text: piece });
    else endTurn(world, id, turn, "complete");
  });
}

const written = new Map<string, { text: string; reasoning: string }>();

export function grow(
  world: World,
  id: string,
  turn: string,
  piece: { text?: string; reasoning?: string },
): void {
  const before = written.get(turn) ?? { text: "", reasoning: "" };
  written.set(turn, {
    text: before.text + (piece.text ?? ""),
    reasoning: before.reasoning + (piece.reasoning ?? ""),
  });
  if (piece.reasoning) world.emit({ type: "reasoningAdded", conversation: id, turn, text: piece.reasoning });
  if (piece.text) world.emit({ type: "textAdded", conversation: id, turn, text: piece.text });
}

function endTurn(world: World, id: string, turn: string, end: "complete" | "stopped"): void {
  world.stop(`turn ${id}`);
  const one = world.find(id);
  if (!one) return;
  const { text, reasoning } = written.get(turn) ?? { text: "", reasoning: "" };
  const stats: TurnStats = {
    route: "local",
    model: one.model ?? world.settings.defaultModel ?? "",
    promptTokens: 1480,
    cachedTokens: 1216,
    completionTokens: Math.max(1, Math.round((text.length + reasoning.length) / 4)),
    firstTokenMs: 380,
    decodeTps: 36.4,
    window: 8192,
  };
  const all = tree(world, one);
  const parent = one.messages.findLast((message) => message.role === "user")?.id;
  const message: Message = {
    ...answerMessage(text, now(), { reasoning, end, stats }),
    id: turn,
    ...(parent === undefined ? {} : { parent }),
  };
  delete one.running;
  const at = all.findIndex((before) => before.id === turn);
  if (at < 0) all.push(message);
  else all[at] = message;
  one.messages = pathTo(all, turn);
  one.updatedAt = now();
  world.emit({ type: "turnEnded", conversation: id, turn, end, stats });
  world.changed(one);
}
