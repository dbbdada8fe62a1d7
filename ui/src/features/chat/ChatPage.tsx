import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { FaultCard } from "@/components/FaultCard";
import { Spinner } from "@/components/Spinner";
import { faultOf } from "@/host/host";
import { useHost, useTell } from "@/state/ask";
import { useLive } from "@/state/live";
import { threadOpened, useThreads } from "@/state/threads";
import { keepDraft, useView } from "@/state/view";
import type { Fault } from "@/wire/wire";

import { Composer } from "./Composer";
import { EmptyChat } from "./EmptyChat";
import { useFixes } from "./fixes";
import { ModelState } from "./ModelState";
import { Thread } from "./Thread";

/** A chat that does not exist yet: it is made with its first message. */
export function NewChatPage() {
  const host = useHost();
  const navigate = useNavigate();
  const [fault, setFault] = useState<Fault>();
  const [busy, setBusy] = useState(false);
  const chosen = useView((view) => view.chosen[""]);
  const fallback = useLive((live) => live.defaultModel);
  const model = chosen ?? fallback;

  async function send(text: string): Promise<boolean> {
    setBusy(true);
    setFault(undefined);
    try {
      const made = await host.call("conversations/create", model ? { model } : {});
      threadOpened(made);
      await host.call("turn/start", { conversation: made.id, text, ...(model ? { model } : {}) });
      keepDraft("", "");
      await navigate({ to: "/c/$id", params: { id: made.id } });
      return true;
    } catch (thrown) {
      setFault(faultOf(thrown));
      return false;
    } finally {
      setBusy(false);
    }
  }

  const fixes = useFixes({ model });
  return (
    <section className="flex h-full flex-col">
      <EmptyChat model={model} />
      <div className="mx-auto flex w-full max-w-[760px] flex-col gap-2 px-4 pb-4">
        {fault && <FaultCard fault={fault} fixes={{ ...fixes, retry: () => setFault(undefined) }} />}
        <ModelState model={model} />
        <Composer conversation="" model={model} busy={busy} answering={false} onSend={send} />
      </div>
    </section>
  );
}

export function ChatPage({ id }: { id: string }) {
  const { t } = useTranslation();
  const host = useHost();
  const thread = useThreads((state) => state.threads[id]);
  const stop = useTell("turn/stop");
  const [fault, setFault] = useState<Fault>();
  const [model, setModel] = useState<string>();
  const chosen = useView((view) => view.chosen[id]);
  const fallback = useLive((live) => live.defaultModel);
  const inUse = chosen ?? model ?? fallback;

  useEffect(() => {
    let here = true;
    host
      .call("conversations/open", { id })
      .then((conversation) => {
        if (!here) return;
        threadOpened(conversation);
        setModel(conversation.model);
      })
      .catch((thrown: unknown) => here && setFault(faultOf(thrown)));
    return () => {
      here = false;
    };
  }, [host, id]);

  async function send(text: string): Promise<boolean> {
    setFault(undefined);
    try {
      await host.call("turn/start", { conversation: id, text, ...(inUse ? { model: inUse } : {}) });
      keepDraft(id, "");
      return true;
    } catch (thrown) {
      setFault(faultOf(thrown));
      return false;
    }
  }

  const lastQuestion = thread?.messages.findLast((message) => message.role === "user")?.text;
  const retry = lastQuestion === undefined ? undefined : () => void send(lastQuestion);
  const fixes = useFixes({ model: inUse, ...(retry ? { retry } : {}) });
  const answering = thread?.writing !== undefined;

  return (
    <section className="flex h-full flex-col">
      {thread?.loaded || thread?.writing ? (
        <Thread thread={thread} fixes={fixes} />
      ) : (
        <div className="grid flex-1 place-items-center text-sm text-ink-3">
          {!fault && (
            <span className="flex items-center gap-2">
              <Spinner /> {t("chat.opening")}
            </span>
          )}
        </div>
      )}
      <div className="mx-auto flex w-full max-w-[760px] flex-col gap-2 px-4 pb-4">
        {fault && <FaultCard fault={fault} fixes={{ ...fixes, retry: () => setFault(undefined) }} />}
        <ModelState model={inUse} />
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
