import { createMemoryHistory } from "@tanstack/react-router";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, expect, it } from "vitest";

import { App } from "@/app/App";
import { makeRouter } from "@/app/router";
import type { Body, CallName, Host } from "@/host/host";
import { scriptedHost } from "@/host/scripted/scripted";
import { startTexts } from "@/i18n";
import { useLive } from "@/state/live";

beforeAll(startTexts);
beforeEach(() => useLive.setState(useLive.getInitialState(), true));

function open(scenario: string, at: string) {
  const inner = scriptedHost(scenario);
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

it("finds repositories at the hub and judges every file before one is fetched", async () => {
  const { bodies, router, user } = open("ready,fast", "/models");
  await user.click(await screen.findByRole("radio", { name: "Model hub" }));
  await user.type(await screen.findByRole("searchbox", { name: "Search the model hub" }), "qwen3{Enter}");
  await user.click(await screen.findByRole("button", { name: /Qwen3-8B-GGUF/ }));
  const table = await screen.findByRole("table");
  const row = await within(table).findByRole("row", { name: /^Q4_K_M/ });
  expect(await within(row).findByText("fits")).toBeVisible();
  expect(bodies("hub/fit")).toHaveLength(8);
  expect(bodies("models/pull")).toHaveLength(0);
  await user.click(within(row).getByRole("button", { name: "Download Q4_K_M" }));
  const id = "unsloth/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf";
  expect(bodies("models/pull")).toEqual([{ model: id, licenceAccepted: false }]);
  await user.click(await within(row).findByRole("button", { name: "on disk" }, { timeout: 10_000 }));
  await waitFor(() => expect(router.state.location.search).toEqual({ model: id }));
});

it("says what is closed, what is not there and that nobody answers", async () => {
  const { user } = open("ready", "/models?hub=pilot");
  await user.click(await screen.findByRole("button", { name: /Qwen3-Pilot-32B-GGUF/ }));
  expect(await screen.findByText(/let people in one by one/)).toBeVisible();
  expect(await screen.findByRole("link", { name: "Open its page" })).toBeVisible();
  const field = screen.getByRole("searchbox", { name: "Search the model hub" });
  await user.clear(field);
  await user.type(field, "zeppelin{Enter}");
  expect(await screen.findByText("Nothing at the hub is called “zeppelin”.")).toBeVisible();
});

it("offers another try when the hub does not answer", async () => {
  open("hubDown", "/models?hub=qwen3");
  expect(await screen.findByText("The hub cannot be reached")).toBeVisible();
});

it("marks what another program keeps and never offers to delete it", async () => {
  const { user } = open("full,frozen", "/models");
  await user.click(await screen.findByRole("button", { name: /Gemma 3 4B.*Ollama/ }));
  expect(await screen.findByText(/Ollama keeps it/)).toBeVisible();
  const details = screen.getByRole("article", { name: "Gemma 3 4B" });
  expect(within(details).getByRole("button", { name: "Verify" })).toBeVisible();
  expect(within(details).queryByRole("button", { name: "Delete" })).toBeNull();
});

it("tells what lies here twice and compares the rest on request", async () => {
  const { user } = open("full,fast", "/models");
  expect(await screen.findByText(/taken by models that lie here more than once/)).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Compare" }));
  await waitFor(() => expect(screen.queryByText(/may be the same/)).toBeNull(), { timeout: 10_000 });
});

it("lists folders, adds one and takes it away again", async () => {
  const { user } = open("full,frozen", "/settings?section=folders");
  const group = await screen.findByRole("region", { name: "Model folders" });
  expect(await within(group).findByText("The folder is not there: /mnt/unplugged/models")).toBeVisible();
  await user.click(within(group).getByRole("button", { name: "Add a folder" }));
  const dialog = await screen.findByRole("dialog");
  await user.type(within(dialog).getByRole("textbox", { name: "Path" }), "/mnt/nothing{Enter}");
  expect(await within(dialog).findByText("This folder cannot be used")).toBeVisible();
  await user.clear(within(dialog).getByRole("textbox", { name: "Path" }));
  await user.type(within(dialog).getByRole("textbox", { name: "Path" }), "/mnt/models{Enter}");
  expect(await within(group).findByText("/mnt/models")).toBeVisible();
  await user.click(within(group).getByRole("button", { name: "No longer list /mnt/models" }));
  await waitFor(() => expect(within(group).queryByText("/mnt/models")).toBeNull());
});

it("moves the library, lets it stand still and takes it back", async () => {
  const { user } = open("full,frozen", "/settings?section=folders");
  const group = await screen.findByRole("region", { name: "Model folders" });
  await user.click(await within(group).findByRole("button", { name: "Move" }));
  const dialog = await screen.findByRole("dialog");
  await user.type(within(dialog).getByRole("textbox", { name: "New folder" }), "/mnt/big{Enter}");
  expect(await within(group).findByRole("progressbar", { name: "Moving to /mnt/big" })).toBeVisible();
  await user.click(within(group).getByRole("button", { name: "Stop" }));
  expect(await within(group).findByText(/The move to \/mnt\/big stands still/)).toBeVisible();
  await user.click(within(group).getByRole("button", { name: "Take it back" }));
  expect(await within(group).findByRole("button", { name: "Move" })).toBeVisible();
});
