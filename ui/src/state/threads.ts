import { create } from "zustand";

import type { Conversation } from "@/wire/wire";

import { emptyThread, hear, opened, type Thread, type TurnEvent } from "./hear";

interface Threads {
  threads: Record<string, Thread>;
}

/** The conversations that are open or being written. */
export const useThreads = create<Threads>()(() => ({ threads: {} }));

export function threadHear(event: TurnEvent): void {
  useThreads.setState(({ threads }) => {
    const before = threads[event.conversation] ?? emptyThread(event.conversation);
    return { threads: { ...threads, [event.conversation]: hear(before, event) } };
  });
}

export function threadOpened(conversation: Conversation): void {
  useThreads.setState(({ threads }) => ({
    threads: { ...threads, [conversation.id]: opened(conversation, threads[conversation.id]) },
  }));
}

export function getThread(id: string): Thread | undefined {
  return useThreads.getState().threads[id];
}
