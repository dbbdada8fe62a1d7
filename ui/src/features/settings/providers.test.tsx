import { createMemoryHistory } from "@tanstack/react-router";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, expect, it } from "vitest";

import { App } from "@/app/App";
import { makeRouter } from "@/app/router";
import type { Body, CallName, Host } from "@/host/host";
import { scriptedHost } from "@/host/scripted/scripted";
import { startTexts } from "@/i18n";
import { useLive } from "@/state/live";
import { useThreads } from "@/state/threads";
import { useView } from "@/state/view";

beforeAll(startTexts);
beforeEach(() => {
  useLive.setState(useLive.getInitialState(), true);
  useThreads.setState(useThreads.getInitialState(), true);
  useView.setState(useView.getInitialState(), true);
});

function open(at: string) {
  const inner = scriptedHost("full,frozen");
  const asked: { name: CallName; body: unknown }[] = [];
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
  return { bodies, router, user: userEvent.setup() };
}

it("takes a key, tests it, and puts a model into the picker", async () => {
  const { user, bodies, router } = open("/settings?section=providers");
  const group = await screen.findByRole("region", { name: "Providers" });
  await user.click(await within(group).findByRole("button", { name: /^OpenAI/ }));
  expect(within(group).getByRole("button", { name: "Test" })).toBeDisabled();
  await user.type(within(group).getByLabelText("Key for OpenAI"), "sk-sesame");
  await user.click(within(group).getByRole("button", { name: "Save the key" }));
  expect(bodies("providers/setKey")).toEqual([{ id: "openai", key: "sk-sesame" }]);
  await screen.findByText("key in the keyring");
  await user.click(within(group).getByRole("button", { name: "Test" }));
  expect(await within(group).findByText("It answers, with 2 models.")).toBeVisible();
  await user.click(within(group).getByRole("checkbox", { name: "large-1" }));
  expect(bodies("providers/choose")).toEqual([{ id: "openai", models: ["large-1"] }]);

  await router.navigate({ to: "/" });
  useView.setState({ picker: true });
  const picker = await screen.findByRole("dialog", { name: "Choose a model" });
  await user.click(await within(picker).findByRole("option", { name: /large-1/ }));
  expect(await screen.findByRole("button", { name: "Choose a model. Now: large-1" })).toBeVisible();
});

it("adds an endpoint of three fields", async () => {
  const { user, bodies } = open("/settings?section=providers");
  const group = await screen.findByRole("region", { name: "Providers" });
  await user.click(within(group).getByRole("button", { name: "Add another endpoint" }));
  await user.type(within(group).getByLabelText("Name"), "Cellar");
  await user.type(
    within(group).getByLabelText("Address, with its version part"),
    "http://192.168.1.7:8000/v1",
  );
  await user.click(within(group).getByRole("button", { name: "Add" }));
  expect(bodies("providers/save")).toEqual([
    { name: "Cellar", baseUrl: "http://192.168.1.7:8000/v1", protocol: "openaiChat" },
  ]);
  expect(await within(group).findByRole("button", { name: /^Cellar/ })).toBeVisible();
});
