import { create } from "zustand";

import type { ChatSettings } from "@/wire/wire";

/** What only this window knows: what is open, what was chosen but not yet sent. */
interface View {
  picker: boolean;
  drawer: boolean;
  /** Left the first start without setting anything up. */
  startSkipped: boolean;
  /** A model chosen for a conversation before its next message; `""` is the chat that does not exist yet. */
  chosen: Record<string, string>;
  /** Unsent words, by conversation. */
  drafts: Record<string, string>;
  /** How the chat that does not exist yet is to be asked. */
  tuning: ChatSettings;
}

export const useView = create<View>()(() => ({
  picker: false,
  drawer: false,
  startSkipped: false,
  chosen: {},
  drafts: {},
  tuning: {},
}));

export function chooseModel(conversation: string, model: string): void {
  useView.setState(({ chosen }) => ({ chosen: { ...chosen, [conversation]: model } }));
}

export function keepTuning(tuning: ChatSettings): void {
  useView.setState({ tuning });
}

export function keepDraft(conversation: string, text: string): void {
  useView.setState(({ drafts }) => ({ drafts: { ...drafts, [conversation]: text } }));
}
