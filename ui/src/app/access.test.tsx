import { createMemoryHistory } from "@tanstack/react-router";
import { render, screen } from "@testing-library/react";
import axe from "axe-core";
import { beforeAll, beforeEach, expect, it } from "vitest";

import { scriptedHost } from "@/host/scripted/scripted";
import { startTexts } from "@/i18n";
import { useLive } from "@/state/live";
import { useThreads } from "@/state/threads";
import { useView } from "@/state/view";

import { App } from "./App";
import { makeRouter } from "./router";

beforeAll(startTexts);
beforeEach(() => {
  useLive.setState(useLive.getInitialState(), true);
  useThreads.setState(useThreads.getInitialState(), true);
  useView.setState(useView.getInitialState(), true);
});

/** Screen, scenario, place, and a text that says that it is there. */
const SCREENS: [string, string, string, RegExp][] = [
  ["first start", "first,frozen", "/", /This computer carries/],
  ["setting up", "downloading,frozen", "/", /Fetch .* and check every byte/],
  ["a failed setup", "failed,frozen", "/", /The disk is full/],
  ["an empty chat", "empty,frozen", "/", /What shall we work on/],
  ["a chat being answered", "streaming,frozen", "/c/c-live", /It groups by ISO week/],
  ["a chat with a fault", "loadFailed,frozen", "/c/c-broken", /The model stopped in the middle/],
  ["models", "full,frozen", "/models?model=qwen3-8b:Q4_K_M", /Planned and measured/],
  ["settings", "full,frozen", "/settings", /Offer the endpoint/],
  ["a port that is taken", "portTaken,frozen", "/settings?section=endpoint", /ports that were tried/],
  ["a model that wants a token", "needsToken,frozen", "/", /accept the terms/],
  ["the machine", "full,frozen", "/machine", /Left to the system/],
  ["trash", "full,frozen", "/trash", /A draft nobody needs/],
];

it.each(SCREENS)("%s has a name and a role for everything", async (_screen, scenario, at, there) => {
  const router = makeRouter(createMemoryHistory({ initialEntries: [at] }));
  render(<App host={scriptedHost(scenario)} router={router} />);
  await screen.findAllByText(there);
  const { violations } = await axe.run(document.body, {
    // Contrast needs a layout: the tokens have a test of their own. Landmarks are the page's, not the test's.
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });
  expect(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`)).toEqual([]);
});
