import { createMemoryHistory } from "@tanstack/react-router";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, expect, it } from "vitest";

import { App } from "@/app/App";
import { makeRouter } from "@/app/router";
import { scriptedHost } from "@/host/scripted/scripted";
import { startTexts } from "@/i18n";
import { useLive } from "@/state/live";

beforeAll(startTexts);
beforeEach(() => useLive.setState(useLive.getInitialState(), true));

async function open() {
  const host = scriptedHost("full,frozen");
  const router = makeRouter(createMemoryHistory({ initialEntries: ["/machine"] }));
  render(<App host={host} router={router} />);
  await screen.findByRole("heading", { name: "This machine" });
  return { host, user: userEvent.setup() };
}

it("says each number with its source and who holds the memory", async () => {
  await open();
  const ram = await screen.findByRole("region", { name: "RAM" });
  expect(within(ram).getByText("Usable memory").tagName).toBe("DT");
  expect(within(ram).getByText("Source: /proc/meminfo")).toBeVisible();
  const card = screen.getByRole("region", { name: "NVIDIA GeForce RTX 4070 Laptop" });
  expect(within(card).getByText("Source: NVML")).toBeVisible();
});

it("takes a person's number, shows it as theirs, and gives the found one back", async () => {
  const { host, user } = await open();
  const ram = await screen.findByRole("region", { name: "RAM" });
  await user.click(within(ram).getByRole("button", { name: "Change: Usable memory" }));
  const field = screen.getByRole("textbox", { name: "Usable memory (GB)" });
  await user.clear(field);
  await user.type(field, "much");
  expect(screen.getByRole("button", { name: "Use this" })).toBeDisabled();
  await user.clear(field);
  await user.type(field, "16{Enter}");
  expect(await within(ram).findByText(/Set by you, found: 31 GB/)).toBeVisible();
  expect((await host.call("machine/read", { fresh: false })).memory.totalBytes).toBe(16 * 2 ** 30);
  await user.click(within(ram).getByRole("button", { name: "Take back: Usable memory" }));
  expect(await within(ram).findByText("Source: /proc/meminfo")).toBeVisible();
});

it("leaves a device alone until it is wanted again", async () => {
  const { host, user } = await open();
  const use = await screen.findByRole("switch", { name: /Use NVIDIA GeForce RTX 4070 Laptop for models/ });
  await user.click(use);
  expect(await screen.findByText("Left alone, as you said.")).toBeVisible();
  expect((await host.call("machine/read", { fresh: false })).devices).toEqual([]);
  await user.click(screen.getByRole("button", { name: "Take all changes back" }));
  expect(await screen.findByText("Plans may put models on it.")).toBeVisible();
});
