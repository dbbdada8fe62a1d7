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

import { App } from "./App";
import { makeRouter } from "./router";

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

describe("the first start", () => {
  it("goes from one button to a chat", async () => {
    const { user, bodies } = open("first,fast");
    expect(await screen.findByRole("heading", { name: "This computer carries Qwen3 8B" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Set it up" }));
    expect(bodies("setup/start")).toEqual([{ model: "qwen3-8b", quant: "Q4_K_M", licenceAccepted: false }]);
    expect(await screen.findByRole("heading", { name: "Setting up Qwen3 8B" })).toBeVisible();
    expect(screen.getByRole("progressbar", { name: "Setting up Qwen3 8B" })).toBeVisible();
    expect(await screen.findByRole("heading", { name: "What shall we work on?" })).toBeVisible();
    expect(screen.getByRole("button", { name: "Choose a model. Now: Qwen3 8B" })).toBeVisible();
  });

  it("asks for consent before a licence that wants it", async () => {
    const { user, bodies } = open("first,frozen");
    await user.click(await screen.findByRole("button", { name: "Choose another model" }));
    await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: /^Gemma 3 4B/ }));
    await user.click(await screen.findByRole("button", { name: "Set it up" }));
    expect(bodies("setup/start")).toEqual([]);
    const agree = screen.getByRole("button", { name: "Agree and go on" });
    expect(agree).toBeDisabled();
    await user.click(screen.getByRole("checkbox", { name: "I have read it and agree" }));
    await user.click(agree);
    await waitFor(() =>
      expect(bodies("setup/start")).toEqual([
        { model: "gemma-3-4b", quant: "Q4_K_M", licenceAccepted: true },
      ]),
    );
  });

  it("shows a model that is too big with its reason, and does not offer it", async () => {
    const { user } = open("first,frozen");
    await user.click(await screen.findByRole("button", { name: "Choose another model" }));
    const big = within(await screen.findByRole("dialog")).getByRole("button", { name: /Llama 3.3 70B/ });
    expect(big).toBeDisabled();
    expect(big).toHaveTextContent(/It needs \d+ GB, \d+ GB may be used/);
  });

  it("stops, keeps what is there, and goes on", async () => {
    const { user, bodies } = open("downloading,frozen");
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    expect(await screen.findByText("Stopped. What was fetched is kept.")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Resume" }));
    expect(bodies("setup/start")).toHaveLength(1);
  });

  it("turns a fault's ways on into buttons", async () => {
    const { user, bodies } = open("failed,frozen");
    const alert = await screen.findByRole("alert", { name: "The disk is full" });
    expect(alert).toHaveTextContent("Needs 4.6 GB, 1.5 GB are free.");
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    expect(bodies("setup/start")).toHaveLength(1);
  });

  it("tells every number about the machine with its source", async () => {
    const { user } = open("first,frozen");
    await user.click(await screen.findByRole("button", { name: /Every number/ }));
    expect(await screen.findByText("Source: NVML")).toBeVisible();
  });

  it("says so on a machine without a graphics card", async () => {
    open("firstCpu,frozen");
    expect(await screen.findByRole("button", { name: /no graphics card for models/ })).toBeVisible();
    expect(screen.queryByText(/GPU/)).toBeNull();
  });
});

describe("a chat", () => {
  it("sends, streams and tells what the answer took", async () => {
    const { user, bodies } = open("ready,fast");
    await user.type(await screen.findByRole("textbox", { name: "Message" }), "How do tides work?{Enter}");
    expect(await screen.findByRole("article", { name: "You" })).toHaveTextContent("How do tides work?");
    expect(bodies("turn/start")).toEqual([
      { conversation: expect.any(String), text: "How do tides work?", model: "qwen3-8b:Q4_K_M" },
    ]);
    expect(await screen.findByText("36 tokens/s", { selector: "p *" })).toBeVisible();
    expect(screen.getByRole("article", { name: "Answer" })).toHaveTextContent(
      "Tides are the sea answering the Moon.",
    );
    expect(screen.getByText("local")).toBeVisible();
    expect(screen.getByText("first word after 0.4 s")).toBeVisible();
  });

  it("answers again in the place of the last answer", async () => {
    const { user, bodies } = open("ready,fast");
    await user.type(await screen.findByRole("textbox", { name: "Message" }), "How do tides work?{Enter}");
    await user.click(await screen.findByRole("button", { name: "Answer again" }));
    await waitFor(() => expect(bodies("turn/again")).toHaveLength(1));
    await screen.findByRole("button", { name: "Answer again" });
    expect(screen.getAllByRole("article", { name: "You" })).toHaveLength(1);
    expect(screen.getAllByRole("article", { name: "Answer" })).toHaveLength(1);
  });

  it("asks a message differently and goes from branch to branch", async () => {
    const { user, bodies } = open("ready,fast");
    await user.type(await screen.findByRole("textbox", { name: "Message" }), "Write code{Enter}");
    await screen.findByRole("button", { name: "Answer again" });
    await user.click(screen.getByRole("button", { name: "Edit" }));
    const field = screen.getByRole("textbox", { name: "Your message, asked differently" });
    await user.clear(field);
    await user.type(field, "How do tides work?{Enter}");
    await waitFor(() =>
      expect(bodies("turn/start")[1]).toMatchObject({
        text: "How do tides work?",
        instead: expect.any(String),
      }),
    );
    expect(await screen.findByLabelText("Version 2 of 2")).toBeVisible();
    await screen.findByRole("button", { name: "Answer again" });
    expect(screen.getAllByRole("article", { name: "You" })).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: "The version before" }));
    expect(await screen.findByText("Write code", { selector: "article p" })).toBeVisible();
    expect(screen.getByLabelText("Version 1 of 2")).toBeVisible();
    expect(screen.getByRole("button", { name: "The version before" })).toBeDisabled();
  });

  it("tells the model what the person wants of it", async () => {
    const { user, bodies } = open("ready,fast");
    await user.click(await screen.findByRole("button", { name: "Instructions and numbers" }));
    await user.type(await screen.findByRole("textbox", { name: "Instructions" }), "Be brief.");
    await user.type(screen.getByRole("spinbutton", { name: "Temperature" }), "0.2");
    await user.click(screen.getByRole("radio", { name: "Off" }));
    await user.click(screen.getByRole("button", { name: "Use here" }));
    await user.type(await screen.findByRole("textbox", { name: "Message" }), "Hello{Enter}");
    await waitFor(() =>
      expect(bodies("conversations/create")).toEqual([
        {
          model: "qwen3-8b:Q4_K_M",
          settings: { instructions: "Be brief.", temperature: 0.2, thinking: "off" },
        },
      ]),
    );
    await user.click(await screen.findByRole("button", { name: "Instructions and numbers" }));
    expect(await screen.findByRole("textbox", { name: "Instructions" })).toHaveValue("Be brief.");
    await user.click(screen.getByRole("button", { name: "Use always with Qwen3 8B" }));
    await waitFor(() => expect(bodies("models/setSettings")).toHaveLength(1));
  });

  it("stops by Esc, but leaves Esc to an open picker", async () => {
    const { user, bodies } = open("streaming,frozen", "/c/c-live");
    expect(await screen.findByRole("button", { name: /Stop the answer/ })).toBeVisible();
    await user.keyboard("{Control>}k{/Control}");
    await screen.findByRole("dialog", { name: "Choose a model" });
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(bodies("turn/stop")).toEqual([]);
    await user.keyboard("{Escape}");
    expect(bodies("turn/stop")).toEqual([{ conversation: "c-live" }]);
    expect(await screen.findByText("Stopped.")).toBeVisible();
  });

  it("keeps the words when they could not be sent", async () => {
    const { user, asked } = open("streaming,frozen", "/c/c-live");
    const field = await screen.findByRole("textbox", { name: "Message" });
    await user.type(field, "and then?{Enter}");
    expect(field).toHaveValue("and then?");
    expect(asked.some((one) => one.name === "turn/start")).toBe(false);
  });

  it("folds what the model thought", async () => {
    const { user } = open("ready,frozen");
    await user.click(await screen.findByRole("link", { name: /Group dates by week/ }));
    const fold = await screen.findByRole("button", { name: "Thought" });
    expect(fold).toHaveAttribute("aria-expanded", "false");
    await user.click(fold);
    expect(await screen.findByText(/"Week" is ambiguous/)).toBeVisible();
  });

  it("shows why a model could not be loaded, with ways on", async () => {
    open("loadFailed,frozen", "/c/c-broken");
    const alert = await screen.findByRole("alert", { name: "Not enough memory" });
    expect(
      within(alert)
        .getAllByRole("button")
        .map((one) => one.textContent),
    ).toEqual(["Choose a smaller context", "Choose another model", "Try again", "Details"]);
  });

  it("shows how far a model is loaded", async () => {
    open("loading,frozen");
    expect(await screen.findByRole("progressbar", { name: "Qwen3 8B is being loaded" })).toHaveAttribute(
      "aria-valuenow",
      "46",
    );
  });
});

describe("the list", () => {
  it("searches titles and messages, and shows what stands around the words", async () => {
    const { user, router } = open("ready,frozen");
    await user.type(
      await screen.findByRole("searchbox", { name: "Search all conversations" }),
      "answering moon",
    );
    await waitFor(() => expect(screen.queryByRole("link", { name: /Three dinners/ })).toBeNull());
    const hit = await screen.findByRole("link", { name: /How tides work.*the sea answering the Moon/ });
    await user.click(hit);
    expect(await screen.findByRole("article", { name: "Answer" })).toHaveTextContent("answering the Moon");
    expect(router.state.location.search).toHaveProperty("m");
    await user.clear(screen.getByRole("searchbox", { name: "Search all conversations" }));
    expect(await screen.findByRole("link", { name: /Three dinners/ })).toBeVisible();
  });

  it("saves a conversation as Markdown and as a document", async () => {
    const { user, bodies } = open("ready,frozen");
    await user.click(await screen.findByRole("button", { name: "Actions for “Three dinners”" }));
    await user.click(await screen.findByRole("menuitem", { name: "Save as Markdown" }));
    expect(await screen.findByText("Saved as /home/ada/Downloads/Three dinners.md")).toBeVisible();
    await user.click(await screen.findByRole("button", { name: "Actions for “Three dinners”" }));
    await user.click(await screen.findByRole("menuitem", { name: "Save as a document" }));
    expect(await screen.findByText("Saved as /home/ada/Downloads/Three dinners.json")).toBeVisible();
    expect(bodies("conversations/export")[1]).toEqual({ id: expect.any(String), save: true });
  });

  it("empties the trash only after a confirmation", async () => {
    const { user, bodies } = open("full,frozen", "/trash");
    await user.click(await screen.findByRole("button", { name: "Empty the trash" }));
    expect(bodies("conversations/emptyTrash")).toEqual([]);
    await user.click(await screen.findByRole("button", { name: "Remove for good" }));
    expect(await screen.findByText("The trash is empty.")).toBeVisible();
  });

  it("takes the focus along to the page that a link leads to, and only then", async () => {
    const { user } = open("default", "/machine");
    expect(await screen.findByRole("heading", { name: "This machine" })).not.toHaveFocus();
    for (const [link, title] of [
      ["Trash", "Trash"],
      ["Machine", "This machine"],
    ] as const) {
      screen.getByRole("link", { name: link }).focus();
      await user.keyboard("{Enter}");
      await waitFor(() => expect(screen.getByRole("heading", { level: 1, name: title })).toHaveFocus());
    }
  });

  it("deletes to the trash with undo", async () => {
    const { user, bodies } = open("ready,frozen");
    (await screen.findByRole("link", { name: /Three dinners/ })).focus();
    await user.keyboard("{Delete}");
    await waitFor(() => expect(screen.queryByRole("link", { name: /Three dinners/ })).toBeNull());
    await user.click(await screen.findByRole("button", { name: "Undo" }));
    expect(bodies("conversations/restore")).toHaveLength(1);
    expect(await screen.findByRole("link", { name: /Three dinners/ })).toBeVisible();
  });

  it("renames in place", async () => {
    const { user, bodies } = open("ready,frozen");
    (await screen.findByRole("link", { name: /Three dinners/ })).focus();
    await user.keyboard("{F2}");
    await user.keyboard("Dinners{Enter}");
    expect(await screen.findByRole("link", { name: "Dinners" })).toBeVisible();
    expect(bodies("conversations/rename")).toEqual([{ id: expect.any(String), title: "Dinners" }]);
  });

  it("gives back what is in the trash", async () => {
    const { user } = open("full,frozen", "/trash");
    await user.click(await screen.findByRole("button", { name: "Restore" }));
    expect(await screen.findByText("The trash is empty.")).toBeVisible();
  });
});

describe("the picker", () => {
  it("is reached, searched and used by keyboard alone", async () => {
    const { user, bodies } = open("full,frozen");
    await screen.findByRole("textbox", { name: "Message" });
    await user.keyboard("{Control>}k{/Control}");
    await screen.findByRole("dialog", { name: "Choose a model" });
    await user.keyboard("coder{Enter}");
    await waitFor(() =>
      expect(bodies("router/load")).toEqual([{ model: "qwen2.5-coder-0.5b-instruct:Q4_K_M", wishes: {} }]),
    );
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(
      await screen.findByRole("button", { name: "Choose a model. Now: Qwen2.5 Coder 0.5B" }),
    ).toBeVisible();
  });

  it("shows what does not fit with its reason", async () => {
    const { user } = open("full,frozen");
    await screen.findByRole("textbox", { name: "Message" });
    await user.keyboard("{Control>}k{/Control}");
    const row = await screen.findByRole("option", { name: /Llama 3.3 70B/ });
    expect(row).toHaveTextContent("too big");
    expect(row).toHaveTextContent(/It needs \d+ GB, \d+ GB may be used/);
  });
});

describe("models", () => {
  it("plans again when the context is changed, and loads with it", async () => {
    const { user, bodies } = open("ready,frozen", "/models?model=qwen3-8b:Q4_K_M");
    (await screen.findByRole("slider", { name: "Context" })).focus();
    await user.keyboard("{ArrowLeft}");
    await waitFor(() =>
      expect(bodies("plan/make")).toEqual([{ model: "qwen3-8b:Q4_K_M", wishes: { context: 6144 } }]),
    );
    await user.click(await screen.findByRole("button", { name: "Load with 6K context" }));
    expect(bodies("router/load")).toEqual([{ model: "qwen3-8b:Q4_K_M", wishes: { context: 6144 } }]);
  });

  it("plans for what matters, and loads with it", async () => {
    const { user, bodies } = open("ready,frozen", "/models?model=qwen3-8b:Q4_K_M");
    const model = "qwen3-8b:Q4_K_M";
    await user.click(await screen.findByRole("radio", { name: "Long conversations" }));
    await waitFor(() => expect(bodies("plan/make")).toEqual([{ model, wishes: { goal: "longestContext" } }]));
    await user.click(await screen.findByRole("button", { name: "Load with 40K context" }));
    expect(bodies("router/load")).toEqual([{ model, wishes: { goal: "longestContext" } }]);
    await user.click(screen.getByRole("button", { name: "Back to the plan" }));
    expect(screen.getByRole("radio", { name: "Balanced" })).toBeChecked();
    // It has no layers that could guess.
    expect(screen.queryByRole("switch", { name: "Guess ahead" })).toBeNull();
  });

  it("guesses ahead where the model can, and shows what that takes", async () => {
    const model = "qwen3-30b-a3b:Q4_K_M";
    const { user, bodies } = open("full,frozen", `/models?model=${model}`);
    await user.click(await screen.findByRole("switch", { name: "Guess ahead" }));
    await waitFor(() => expect(bodies("plan/make")).toEqual([{ model, wishes: { draft: "own" } }]));
    await user.click(await screen.findByRole("radio", { name: "Speed" }));
    await waitFor(() =>
      expect(bodies("plan/make").at(-1)).toEqual({ model, wishes: { goal: "fastest", draft: "own" } }),
    );
  });

  it("says in words what the gauge shows", async () => {
    open("ready,frozen", "/models?model=qwen3-8b:Q4_K_M");
    expect(
      await screen.findByRole("group", {
        name: /RTX 4070 Laptop: uses 6.2 of 8 GB; the line is at 6.8 GB.*weights 4.6 GB/,
      }),
    ).toBeInTheDocument();
  });

  it("deletes only after a confirmation", async () => {
    const { user, bodies } = open("ready,frozen", "/models?model=qwen3-8b:Q4_K_M");
    await user.click(await screen.findByRole("button", { name: "Delete" }));
    expect(bodies("models/remove")).toEqual([]);
    await user.click(await screen.findByRole("button", { name: "Delete 4.6 GB" }));
    await waitFor(() => expect(bodies("models/remove")).toEqual([{ id: "qwen3-8b:Q4_K_M" }]));
  });

  it("shows why an import was refused, and keeps the path", async () => {
    const { user } = open("ready,frozen", "/models");
    await user.click(await screen.findByRole("button", { name: "Import a file" }));
    await user.type(screen.getByRole("textbox", { name: "Path" }), "/tmp/notes.txt{Enter}");
    expect(await screen.findByRole("alert", { name: "This is not a GGUF file" })).toBeVisible();
    expect(screen.getByRole("textbox", { name: "Path" })).toHaveValue("/tmp/notes.txt");
  });

  it("stops a download", async () => {
    const { user, bodies } = open("full,frozen", "/models?model=qwen3-4b:Q6_K");
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    expect(bodies("models/stopPull")).toEqual([{ id: "qwen3-4b:Q6_K" }]);
    expect(await screen.findByRole("button", { name: "Resume" })).toBeVisible();
  });
});

describe("settings", () => {
  it("never shows the key unasked", async () => {
    const { user } = open("ready,frozen", "/settings");
    await screen.findByText("http://127.0.0.1:18760/v1");
    expect(document.body).not.toHaveTextContent("pl-3f9c1b7e42a84d0c9a6e5d2f8b1c7a30");
    await user.click(screen.getByRole("button", { name: "Show the key" }));
    expect(document.body).toHaveTextContent("pl-3f9c1b7e42a84d0c9a6e5d2f8b1c7a30");
  });

  it("changes the language at once", async () => {
    const { user } = open("ready,frozen", "/settings");
    await user.click(await screen.findByRole("radio", { name: "Deutsch" }));
    expect(await screen.findByRole("heading", { name: "Einstellungen" })).toBeVisible();
    await user.click(screen.getByRole("radio", { name: "English" }));
    expect(await screen.findByRole("heading", { name: "Settings" })).toBeVisible();
  });

  it("changes one thing and sends the rest along", async () => {
    const { user, bodies } = open("ready,frozen", "/settings");
    await user.click(await screen.findByRole("radio", { name: "Compact" }));
    expect(bodies("settings/write")).toEqual([
      { settings: expect.objectContaining({ density: "compact", defaultModel: "qwen3-8b:Q4_K_M" }) },
    ]);
  });

  it("checks an engine and shows every step", async () => {
    const { user } = open("ready,frozen", "/settings");
    await user.click(await screen.findByRole("button", { name: "Check" }));
    expect(await screen.findByText("b11429-cuda passed every check")).toBeVisible();
    expect(screen.getByText("Sees its devices")).toBeVisible();
  });

  it("offers a newer release of the engine and fetches it only when asked", async () => {
    const { user, bodies } = open("ready,frozen", "/settings");
    await user.click(await screen.findByRole("button", { name: "Look for a newer release" }));
    expect(await screen.findByText("b11459 is the newest release.")).toBeVisible();
    expect(bodies("engines/install")).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Take cuda-13.4 of b11459" }));
    await waitFor(() => expect(bodies("engines/install")).toEqual([{ flavour: "cuda-13.4", newest: true }]));
    await user.click(screen.getByRole("button", { name: "Why these" }));
    expect(screen.getByText(/its driver 580.95.05 runs this CUDA/)).toBeVisible();
    expect(screen.getByText("Nothing here that it would compute with.")).toBeVisible();
  });
});

describe("the status bar", () => {
  it("wakes the sampler and shows who holds what", async () => {
    const { user, bodies } = open("ready,frozen");
    await user.click(await screen.findByRole("button", { name: /RTX 4070/ }));
    expect(bodies("status/watch")).toEqual([{ on: true }]);
    const details = await screen.findByRole("dialog", { name: "NVIDIA GeForce RTX 4070 Laptop" });
    expect(details).toHaveTextContent("other programs");
  });
});

describe("the ways on of a fault", () => {
  it("leads from a model that wants a token to the field for it, and back", async () => {
    const { user, bodies, router } = open("needsToken,frozen");
    await user.click(await screen.findByRole("button", { name: "Set a hub token" }));
    const field = await screen.findByLabelText("Access token");
    await waitFor(() => expect(field).toHaveFocus());
    const save = screen.getByRole("button", { name: "Save" });
    expect(save).toBeDisabled();
    await user.type(field, "two words");
    expect(save).toBeDisabled();
    await user.clear(field);
    await user.type(field, " hf_right ");
    await user.click(save);
    expect(await screen.findByText(/Kept in .*token/)).toBeVisible();
    expect(bodies("hub/setToken")).toEqual([{ token: "hf_right" }]);
    expect(field).toHaveValue("");
    await user.click(await screen.findByRole("button", { name: "Remove" }));
    expect(await screen.findByText(/^Only for models whose terms/)).toBeVisible();
    expect(router.state.location.pathname).toBe("/settings");
  });

  it("fetches a file again whose bytes were wrong", async () => {
    const { user, bodies } = open("wrongBytes,frozen", "/models?model=qwen3-4b:Q6_K");
    const card = await screen.findByRole("alert", { name: "The downloaded bytes are not the right ones" });
    await user.click(within(card).getByRole("button", { name: "Download again" }));
    await waitFor(() =>
      expect(bodies("models/pull")).toEqual([expect.objectContaining({ model: "qwen3-4b:Q6_K" })]),
    );
  });

  it("offers one way to try a broken line again, not two", async () => {
    const { user, bodies } = open("unreachable,frozen", "/models?model=qwen3-4b:Q6_K");
    const card = await screen.findByRole("alert", { name: "The hub cannot be reached" });
    expect(within(card).queryByRole("button", { name: "Try again" })).toBeNull();
    await user.click(within(card).getByRole("button", { name: "Check the connection and try again" }));
    await waitFor(() => expect(bodies("models/pull")).toHaveLength(1));
  });

  it("says how to get a newer version", async () => {
    const { user, router } = open("tooNew,frozen");
    await user.click(await screen.findByRole("button", { name: "Update Plimsoll" }));
    expect(await screen.findByText(/Get the newer one where you got this one/)).toBeVisible();
    expect(router.state.location.search).toEqual({ section: "aboutApp" });
  });

  it("opens the door for other programs when their port is free again", async () => {
    const { user } = open("portTaken,frozen", "/settings?section=endpoint");
    const card = await screen.findByRole("alert", { name: "No free port was found" });
    expect(screen.queryByText(/127\.0\.0\.1:18760\/v1$/)).toBeNull();
    await user.click(within(card).getByRole("button", { name: "Try again" }));
    expect(await screen.findByText("http://127.0.0.1:18760/v1")).toBeVisible();
    expect(screen.queryByRole("alert", { name: "No free port was found" })).toBeNull();
  });

  it("sends a refused message again, in the conversation that was made for it", async () => {
    const { user, bodies } = open("refusing,frozen");
    await user.type(await screen.findByRole("textbox", { name: "Message" }), "Hello there{Enter}");
    await user.click(await screen.findByRole("button", { name: "Try again" }));
    await waitFor(() => expect(bodies("turn/start")).toHaveLength(2));
    expect(bodies("conversations/create")).toHaveLength(1);
    expect(bodies("turn/start")[1]).toMatchObject({ text: "Hello there" });
    expect(await screen.findByRole("article", { name: "You" })).toHaveTextContent("Hello there");
  });
});
