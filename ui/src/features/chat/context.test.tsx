import { createMemoryHistory } from "@tanstack/react-router";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";

import type { Body, CallName, Host } from "@/host/host";
import { scriptedHost } from "@/host/scripted/scripted";
import { startTexts } from "@/i18n";
import { useLive } from "@/state/live";
import { useThreads } from "@/state/threads";
import { useView } from "@/state/view";

import { App } from "@/app/App";
import { makeRouter } from "@/app/router";

interface Asked {
  name: CallName;
  body: unknown;
}

/** The whole page over a scripted world, at a place; and everything that it asked. */
function open(scenario: string, at = "/") {
  const inner = scriptedHost(scenario);
  const asked: Asked[] = [];
  const host: Host = {
    ...inner,
    call<N extends CallName>(name: N, body: Body<N>) {
      asked.push({ name, body });
      return inner.call(name, body);
    },
  };
  const router = makeRouter(createMemoryHistory({ initialEntries: [at] }));
  render(<App host={host} router={router} />);
  const bodies = (name: CallName) => asked.filter((one) => one.name === name).map((one) => one.body);
  return { asked, bodies, router, user: userEvent.setup() };
}

beforeAll(startTexts);
beforeEach(() => {
  useLive.setState(useLive.getInitialState(), true);
  useThreads.setState(useThreads.getInitialState(), true);
  useView.setState(useView.getInitialState(), true);
});

describe("the context of a conversation", () => {
  it("is shown with its kind, compacts on a click and gives everything back", async () => {
    const { user, bodies } = open("ready,fast");
    const field = await screen.findByRole("textbox", { name: "Message" });
    await user.type(field, "How do tides work?{Enter}");
    await screen.findByRole("button", { name: "Answer again" });
    await user.type(screen.getByRole("textbox", { name: "Message" }), "And the moon?{Enter}");
    await waitFor(() => expect(screen.getAllByRole("article", { name: "Answer" })).toHaveLength(2));
    // While an answer is written nothing can be compacted.
    await waitFor(() => expect(screen.queryByRole("button", { name: /Stop the answer/ })).toBeNull());
    const meter = await screen.findByRole("button", { name: /Context: .* of 8,192 tokens/ });
    expect(meter).toHaveTextContent("counted + estimate");
    await user.click(meter);
    const details = await screen.findByRole("dialog", { name: "Context" });
    expect(details).toHaveTextContent("An image takes about 1,024 tokens here.");
    await user.click(within(details).getByRole("button", { name: "Compact now" }));
    await waitFor(() => expect(bodies("context/compact")).toHaveLength(1));
    await user.keyboard("{Escape}");
    const line = await screen.findByRole("note", { name: "Summarised messages" });
    expect(line).toHaveTextContent("2 messages summarised");
    await user.click(within(line).getByRole("button", { name: "Show" }));
    const archive = await screen.findByRole("dialog", { name: "What was said" });
    await waitFor(() => expect(archive).toHaveTextContent("How do tides work?"));
    await user.keyboard("{Escape}");
    await user.click(within(line).getByRole("button", { name: "Undo" }));
    await waitFor(() => expect(screen.queryByRole("note", { name: "Summarised messages" })).toBeNull());
  });
});
