import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { FaultCard } from "@/components/FaultCard";
import { Spinner } from "@/components/Spinner";
import { faultOf, type Host } from "@/host/host";
import { useHost, useTell } from "@/state/ask";
import { useLive } from "@/state/live";
import { threadOpened, useThreads } from "@/state/threads";
import { keepDraft, keepTuning, useView } from "@/state/view";
import type { Fault } from "@/wire/wire";

import { Composer } from "./Composer";
import { ContextMeter } from "./ContextMeter";
import { EmptyChat } from "./EmptyChat";
import { useFixes } from "./fixes";
import type { MessageActions } from "./MessageView";
import { ModelState } from "./ModelState";
import { Thread } from "./Thread";

/** What was refused: a message, or the opening of the conversation. */
interface Failed {
  fault: Fault;
  text?: string;
}

async function openThread(host: Host, id: string): Promise<Failed | { model: string | undefined }> {
  try {
    const conversation = await host.call("conversations/open", { id });
    threadOpened(conversation);
    return { model: conversation.model };
  } catch (thrown) {
    return { fault: faultOf(thrown) };
  }
}

/** A chat that does not exist yet: it is made with its first message. */
export function NewChatPage() {
  const host = useHost();
  const navigate = useNavigate();
  const [failed, setFailed] = useState<Failed>();
  const [busy, setBusy] = useState(false);
  /** Made by a try whose message was then refused: the next try goes on with it. */
  const made = useRef<string>(undefined);
  const chosen = useView((view) => view.chosen[""]);
  const fallback = useLive((live) => live.defaultModel);
  const model = chosen ?? fallback;

  async function send(text: string): Promise<boolean> {
    setBusy(true);
    setFailed(undefined);
    try {
      if (made.current === undefined) {
        const { tuning } = useView.getState();
        const conversation = await host.call("conversations/create", {
          ...(model ? { model } : {}),
          ...(Object.keys(tuning).length > 0 ? { settings: tuning } : {}),
        });
        threadOpened(conversation);
        made.current = conversation.id;
      }
      const id = made.current;
      await host.call("turn/start", { conversation: id, text, ...(model ? { model } : {}) });
      keepDraft("", "");
      keepTuning({});
      await navigate({ to: "/c/$id", params: { id } });
      return true;
    } catch (thrown) {
      setFailed({ fault: faultOf(thrown), text });
      return false;
    } finally {
      setBusy(false);
    }
  }

  const again = failed?.text;
  const fixes = useFixes({ model, ...(again === undefined ? {} : { retry: () => void send(again) }) });
  return (
    <section className="flex h-full flex-col">
      <EmptyChat model={model} />
      <div className="mx-auto flex w-full max-w-[760px] flex-col gap-2 px-4 pb-4">
        {failed && <FaultCard fault={failed.fault} fixes={fixes} />}
        <ModelState model={model} />
        <Composer conversation="" model={model} busy={busy} answering={false} onSend={send} />
      </div>
    </section>
  );
}

export function ChatPage({ id, at }: { id: string; at?: string }) {
  const { t } = useTranslation();
  const host = useHost();
  const thread = useThreads((state) => state.threads[id]);
  const stop = useTell("turn/stop");
  const [failed, setFailed] = useState<Failed>();
  const [model, setModel] = useState<string>();
  const chosen = useView((view) => view.chosen[id]);
  const fallback = useLive((live) => live.defaultModel);
  const inUse = chosen ?? model ?? fallback;

  useEffect(() => {
    let here = true;
    void openThread(host, id).then((found) => {
      if (!here) return;
      if ("fault" in found) setFailed(found);
      else setModel(found.model);
    });
    return () => {
      here = false;
    };
  }, [host, id]);

  const thereYet = thread?.loaded && thread.messages.some((message) => message.id === at);
  const elsewhere = at !== undefined && thread?.loaded && !thread.writing && !thereYet ? at : undefined;
  useEffect(() => {
    // What was looked for stands on another branch.
    if (elsewhere === undefined) return;
    host.call("conversations/show", { conversation: id, message: elsewhere }).then(threadOpened, (thrown) => {
      setFailed({ fault: faultOf(thrown) });
    });
  }, [host, id, elsewhere]);

  async function send(text: string): Promise<boolean> {
    setFailed(undefined);
    try {
      await host.call("turn/start", { conversation: id, text, ...(inUse ? { model: inUse } : {}) });
      keepDraft(id, "");
      return true;
    } catch (thrown) {
      setFailed({ fault: faultOf(thrown), text });
      return false;
    }
  }

  async function answerAgain(message?: string) {
    setFailed(undefined);
    try {
      await host.call("turn/again", {
        conversation: id,
        ...(message === undefined ? {} : { message }),
        ...(inUse ? { model: inUse } : {}),
      });
    } catch (thrown) {
      setFailed({ fault: faultOf(thrown) });
    }
  }

  async function edit(message: string, text: string): Promise<boolean> {
    setFailed(undefined);
    try {
      await host.call("turn/start", {
        conversation: id,
        text,
        instead: message,
        ...(inUse ? { model: inUse } : {}),
      });
      return true;
    } catch (thrown) {
      setFailed({ fault: faultOf(thrown) });
      return false;
    }
  }

  async function showBranch(message: string) {
    setFailed(undefined);
    try {
      threadOpened(await host.call("conversations/show", { conversation: id, message }));
    } catch (thrown) {
      setFailed({ fault: faultOf(thrown) });
    }
  }

  const asked = thread?.messages.some((message) => message.role === "user") ?? false;
  const retry = asked ? () => void answerAgain() : undefined;
  const fixes = useFixes({ model: inUse, ...(retry ? { retry } : {}) });
  async function again() {
    if (failed?.text !== undefined) {
      await send(failed.text);
      return;
    }
    setFailed(undefined);
    const found = await openThread(host, id);
    if ("fault" in found) setFailed(found);
    else setModel(found.model);
  }
  const goOn = () => void again();
  const answering = thread?.writing !== undefined;
  const actions: MessageActions = answering
    ? {}
    : {
        again: (message) => void answerAgain(message),
        edit,
        show: (message) => void showBranch(message),
      };

  return (
    <section className="flex h-full flex-col">
      {thread?.loaded || thread?.writing ? (
        <Thread thread={thread} fixes={fixes} actions={actions} {...(at === undefined ? {} : { at })} />
      ) : (
        <div className="grid flex-1 place-items-center text-sm text-ink-3">
          {!failed && (
            <span className="flex items-center gap-2">
              <Spinner /> {t("chat.opening")}
            </span>
          )}
        </div>
      )}
      <div className="mx-auto flex w-full max-w-[760px] flex-col gap-2 px-4 pb-4">
        {failed && (
          <FaultCard fault={failed.fault} fixes={{ ...fixes, retry: goOn, checkConnection: goOn }} />
        )}
        <ModelState model={inUse} />
        <ContextMeter conversation={id} answering={answering} />
        <Composer
          conversation={id}
          model={inUse}
          busy={false}
          answering={answering}
          onSend={send}
          onStop={() => stop.mutate({ conversation: id })}
        />
      </div>
    </section>
  );
}
