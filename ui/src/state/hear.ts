import type {
  Branch,
  ChatEnd,
  Conversation,
  Event,
  Fault,
  Message,
  ToolEffect,
  ToolUse,
  TurnStats,
} from "@/wire/wire";

/** The answer that is being written. Text grows here, so that finished messages never change identity. */
export interface Writing {
  turn: string;
  /** The question. */
  parent?: string;
  /** Where it stands among other answers to the question. */
  branch?: Branch;
  text: string;
  reasoning: string;
  /** While the prompt is being read. */
  prompt?: { done: number; total: number };
  /** While the provider asks for patience: how long, and why. */
  patience?: { afterMs: number; fault: Fault };
  /** What was done on the way. */
  tools?: ToolUse[];
  /** A call that waits for the person. */
  asked?: { call: string; tool: string; effect: ToolEffect };
}

/** One open conversation, as the screen shows it. */
export interface Thread {
  id: string;
  messages: Message[];
  writing?: Writing;
  /** The conversation was read from the store; before that only events are known. */
  loaded: boolean;
  /** We came in while an answer was under way: its beginning may be missing until it is read again. */
  joinedLate: boolean;
}

export type TurnEvent = Extract<
  Event,
  {
    type:
      | "turnStarted"
      | "turnWaiting"
      | "promptRead"
      | "textAdded"
      | "reasoningAdded"
      | "toolsMoved"
      | "toolAsked"
      | "turnEnded";
  }
>;

export function isTurnEvent(event: Event): event is TurnEvent {
  switch (event.type) {
    case "turnStarted":
    case "turnWaiting":
    case "promptRead":
    case "textAdded":
    case "reasoningAdded":
    case "toolsMoved":
    case "toolAsked":
    case "turnEnded":
      return true;
    case "routerChanged":
    case "setupMoved":
    case "transferMoved":
    case "sampled":
    case "libraryChanged":
    case "compared":
    case "enginesChanged":
    case "settingsChanged":
    case "endpointUsed":
    case "machineChanged":
    case "conversationChanged":
    case "contextChanged":
    case "missed":
      return false;
    default:
      // A newer app may send what this page does not know: leave it, but fail to compile when we could know.
      return event satisfies never;
  }
}

export function emptyThread(id: string): Thread {
  return { id, messages: [], loaded: false, joinedLate: false };
}

/** What a stored conversation looks like on the screen, keeping what events told us meanwhile. */
export function opened(conversation: Conversation, before: Thread | undefined): Thread {
  const running = conversation.running;
  if (running === undefined) {
    return { id: conversation.id, messages: conversation.messages, loaded: true, joinedLate: false };
  }
  const stored = conversation.messages.find((message) => message.id === running);
  const heard = before?.writing?.turn === running ? before.writing : undefined;
  const text = longer(heard?.text, stored?.text);
  const reasoning = longer(heard?.reasoning, stored?.reasoning);
  return {
    id: conversation.id,
    messages: conversation.messages.filter((message) => message.id !== running),
    writing: {
      turn: running,
      ...(stored?.parent === undefined ? {} : { parent: stored.parent }),
      ...(stored?.branch ? { branch: stored.branch } : {}),
      text,
      reasoning,
      ...(heard?.prompt ? { prompt: heard.prompt } : {}),
      ...(heard?.asked ? { asked: heard.asked } : {}),
      ...((heard?.tools ?? stored?.tools) ? { tools: heard?.tools ?? stored?.tools ?? [] } : {}),
    },
    loaded: true,
    joinedLate: heard === undefined || before?.joinedLate === true,
  };
}

function longer(one = "", other = ""): string {
  return one.length >= other.length ? one : other;
}

/** One event later. Pure, so that a thread can be tested without a screen. */
export function hear(thread: Thread, event: TurnEvent): Thread {
  switch (event.type) {
    case "turnStarted": {
      return {
        ...thread,
        messages: [...upTo(thread.messages, event.user), event.user],
        writing: {
          turn: event.turn,
          parent: event.user.id,
          ...(event.branch ? { branch: event.branch } : {}),
          text: "",
          reasoning: "",
        },
      };
    }
    case "turnWaiting": {
      const { writing, joinedLate } = current(thread, event.turn);
      return {
        ...thread,
        joinedLate,
        writing: { ...withoutPrompt(writing), patience: { afterMs: event.afterMs, fault: event.fault } },
      };
    }
    case "promptRead": {
      const { writing, joinedLate } = current(thread, event.turn);
      return {
        ...thread,
        joinedLate,
        writing: { ...withoutPrompt(writing), prompt: { done: event.done, total: event.total } },
      };
    }
    case "textAdded": {
      const { writing, joinedLate } = current(thread, event.turn);
      return {
        ...thread,
        joinedLate,
        writing: { ...withoutPrompt(writing), text: writing.text + event.text },
      };
    }
    case "reasoningAdded": {
      const { writing, joinedLate } = current(thread, event.turn);
      return {
        ...thread,
        joinedLate,
        writing: { ...withoutPrompt(writing), reasoning: writing.reasoning + event.text },
      };
    }
    case "toolsMoved": {
      const { writing, joinedLate } = current(thread, event.turn);
      const { asked, ...rest } = withoutPrompt(writing);
      const known = writing.tools ?? [];
      const moved = known.map((one) => event.tools.find((now) => now.id === one.id) ?? one);
      const fresh = event.tools.filter((now) => !known.some((one) => one.id === now.id));
      const waits = asked !== undefined && !event.tools.some((now) => now.id === asked.call && now.result);
      return {
        ...thread,
        joinedLate,
        writing: { ...rest, ...(waits ? { asked } : {}), tools: [...moved, ...fresh] },
      };
    }
    case "toolAsked": {
      const { writing, joinedLate } = current(thread, event.turn);
      return {
        ...thread,
        joinedLate,
        writing: {
          ...withoutPrompt(writing),
          asked: { call: event.call, tool: event.tool, effect: event.effect },
        },
      };
    }
    case "turnEnded": {
      if (
        thread.writing?.turn !== event.turn &&
        thread.messages.some((message) => message.id === event.turn)
      ) {
        return thread;
      }
      const { writing, joinedLate } = current(thread, event.turn);
      const answer = finished(writing, event.end, event.stats, event.fault);
      const { writing: _done, ...rest } = thread;
      return { ...rest, joinedLate, messages: [...thread.messages, answer] };
    }
    default:
      return event satisfies never;
  }
}

/** What is still shown when this question is asked: all up to the message that it follows. */
function upTo(messages: Message[], question: Message): Message[] {
  const known = messages.findIndex((message) => message.id === question.id);
  if (known >= 0) return messages.slice(0, known);
  if (question.parent === undefined) return [];
  const parent = messages.findIndex((message) => message.id === question.parent);
  // What it follows was not read yet: it will be, when the turn has ended.
  return parent < 0 ? messages : messages.slice(0, parent + 1);
}

function withoutPrompt({ prompt: _read, patience: _had, ...writing }: Writing): Writing {
  return writing;
}

function current(thread: Thread, turn: string): { writing: Writing; joinedLate: boolean } {
  if (thread.writing?.turn === turn) return { writing: thread.writing, joinedLate: thread.joinedLate };
  return { writing: { turn, text: "", reasoning: "" }, joinedLate: true };
}

function finished(writing: Writing, end: ChatEnd, stats?: TurnStats, fault?: Fault): Message {
  return {
    id: writing.turn,
    ...(writing.parent === undefined ? {} : { parent: writing.parent }),
    ...(writing.branch ? { branch: writing.branch } : {}),
    role: "assistant",
    text: writing.text,
    reasoning: writing.reasoning,
    ...(writing.tools ? { tools: writing.tools } : {}),
    createdAt: Math.floor(Date.now() / 1000),
    end,
    ...(stats ? { stats } : {}),
    ...(fault ? { fault } : {}),
  };
}

/** Neighbouring pieces of one answer become one event: a frame then costs one update, not one a token. */
export function joined(events: readonly Event[]): Event[] {
  const out: Event[] = [];
  for (const event of events) {
    const last = out.at(-1);
    if (
      last &&
      (event.type === "textAdded" || event.type === "reasoningAdded") &&
      last.type === event.type &&
      last.turn === event.turn
    ) {
      out[out.length - 1] = { ...last, text: last.text + event.text };
    } else if (last && event.type === "sampled" && last.type === "sampled") {
      out[out.length - 1] = event;
    } else {
      out.push(event);
    }
  }
  return out;
}
