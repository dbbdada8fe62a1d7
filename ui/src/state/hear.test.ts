import { describe, expect, it } from "vitest";

import type { Conversation, Event, Message } from "@/wire/wire";

import { emptyThread, hear, isTurnEvent, joined, opened, type Thread, type TurnEvent } from "./hear";

const user: Message = { id: "u1", role: "user", text: "hi", reasoning: "", createdAt: 1 };

function after(thread: Thread, ...events: TurnEvent[]): Thread {
  return events.reduce(hear, thread);
}

const started: TurnEvent = { type: "turnStarted", conversation: "c", turn: "t1", user };
const text = (piece: string, turn = "t1"): TurnEvent => ({
  type: "textAdded",
  conversation: "c",
  turn,
  text: piece,
});
const ended = (turn = "t1"): TurnEvent => ({ type: "turnEnded", conversation: "c", turn, end: "complete" });

describe("a turn", () => {
  it("becomes one answer, in order", () => {
    const thread = after(
      emptyThread("c"),
      started,
      { type: "promptRead", conversation: "c", turn: "t1", done: 5, total: 10 },
      { type: "reasoningAdded", conversation: "c", turn: "t1", text: "hm" },
      text("Hel"),
      text("lo"),
      ended(),
    );
    expect(thread.writing).toBeUndefined();
    expect(thread.messages.map((one) => [one.role, one.text, one.reasoning])).toEqual([
      ["user", "hi", ""],
      ["assistant", "Hello", "hm"],
    ]);
    expect(thread.joinedLate).toBe(false);
  });

  it("does not add the question twice when it was read from the store first", () => {
    const thread = after({ ...emptyThread("c"), messages: [user], loaded: true }, started);
    expect(thread.messages).toHaveLength(1);
  });

  it("takes the place of the answer that a question had", () => {
    const first = after(emptyThread("c"), started, text("wrong"), ended());
    const again: TurnEvent = { type: "turnStarted", conversation: "c", turn: "t2", user };
    const thread = after(first, again, text("right", "t2"), ended("t2"));
    expect(thread.messages.map((one) => one.text)).toEqual(["hi", "right"]);
  });

  it("takes the place of a message that is asked differently, with all that followed", () => {
    const first = after(emptyThread("c"), started, text("one"), ended());
    const more: TurnEvent = {
      type: "turnStarted",
      conversation: "c",
      turn: "t2",
      user: { ...user, id: "u2", parent: "t1", text: "and?" },
    };
    const two = after(first, more, text("two", "t2"), ended("t2"));
    const edited: TurnEvent = {
      ...more,
      turn: "t3",
      user: { ...user, id: "u3", parent: "t1", text: "or?", branch: { place: 2, of: 2, before: "u2" } },
    };
    const now = after(two, edited, text("three", "t3"), ended("t3"));
    expect(now.messages.map((one) => one.text)).toEqual(["hi", "one", "or?", "three"]);
    const begun = after(now, { ...edited, turn: "t4", user: { ...user, id: "u4", text: "Hi" } });
    expect(begun.messages.map((one) => one.text)).toEqual(["Hi"]);
  });

  it("does not add the answer twice when its end is heard again", () => {
    const thread = after(emptyThread("c"), started, text("a"), ended(), ended());
    expect(thread.messages).toHaveLength(2);
  });

  it("leaves finished messages untouched while words come", () => {
    const before = after(emptyThread("c"), started);
    const now = after(before, text("a"), text("b"));
    expect(now.messages).toBe(before.messages);
  });

  it("knows that it came in late", () => {
    expect(after(emptyThread("c"), text("rest")).joinedLate).toBe(true);
  });
});

describe("opening", () => {
  const stored = (answer: string): Conversation => ({
    id: "c",
    title: "",
    createdAt: 1,
    updatedAt: 1,
    running: "t1",
    tools: { on: false, folders: [], allowed: [] },
    settings: {},
    messages: [user, { id: "t1", role: "assistant", text: answer, reasoning: "", createdAt: 2 }],
  });

  it("shows an answer under way as being written", () => {
    const thread = opened(stored("Hel"), undefined);
    expect(thread.writing?.text).toBe("Hel");
    expect(thread.messages).toEqual([user]);
    expect(thread.joinedLate).toBe(true);
  });

  it("keeps what was heard when the store is behind", () => {
    const heard = after(emptyThread("c"), started, text("Hello there"));
    const thread = opened(stored("Hel"), heard);
    expect(thread.writing?.text).toBe("Hello there");
    expect(thread.joinedLate).toBe(false);
  });
});

describe("a frame's events", () => {
  it("join to one piece per answer, in order", () => {
    const pieces: Event[] = [
      text("a"),
      text("b"),
      text("x", "t2"),
      { type: "reasoningAdded", conversation: "c", turn: "t1", text: "r" },
      text("c"),
      { type: "libraryChanged" },
    ];
    expect(
      joined(pieces).map((event) => (isTurnEvent(event) && "text" in event ? event.text : event.type)),
    ).toEqual(["ab", "x", "r", "c", "libraryChanged"]);
  });
});
