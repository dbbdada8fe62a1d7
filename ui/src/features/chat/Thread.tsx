import { ArrowDown } from "lucide-react";
import { Fragment, useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { useTranslation } from "react-i18next";
import { useStickToBottom } from "use-stick-to-bottom";

import { Button, IconButton } from "@/components/Button";
import type { FixActions } from "@/components/FaultCard";
import { useAsk } from "@/state/ask";
import type { Thread as ThreadState, Writing } from "@/state/hear";
import type { Message } from "@/wire/wire";

import { Announcer } from "./Announcer";
import { CompactionLine } from "./CompactionLine";
import { type MessageActions, MessageView } from "./MessageView";

/** How many of the newest messages are built when a conversation is opened: more than a screen of short ones. */
const FIRST = 24;
/** How many earlier ones are built at a time: few enough for the frame that builds them. */
const STEP = 4;
/** How near to the first built message, in px, earlier ones are built. */
const NEAR = 2400;

const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

export function Thread({
  thread,
  fixes,
  actions,
  at,
}: {
  thread: ThreadState;
  fixes: FixActions;
  actions: MessageActions;
  /** The message to begin at, instead of the end. */
  at?: string;
}) {
  const { t } = useTranslation();
  const { scrollRef, contentRef, isAtBottom, scrollToBottom, stopScroll } = useStickToBottom({
    initial: "instant",
    resize: "instant",
  });
  /** The first message that is built, once earlier ones were asked for: what comes later takes none away. */
  const [from, setFrom] = useState<number>();
  const wanted = at === undefined ? -1 : thread.messages.findIndex((message) => message.id === at);
  const usual = Math.max(0, thread.messages.length - FIRST);
  const hidden = from ?? (wanted < 0 ? usual : Math.min(usual, Math.max(0, wanted - STEP)));
  const shown = hidden === 0 ? thread.messages : thread.messages.slice(hidden);

  // In one list, so that an answer keeps its place and its identity when it is finished.
  const items: { key: string; is: { message?: Message; writing?: Writing } }[] = shown.map((message) => ({
    key: message.id,
    is: { message },
  }));
  if (thread.writing) items.push({ key: thread.writing.turn, is: { writing: thread.writing } });

  const lines =
    useAsk("context/read", { conversation: thread.id }, { keepLast: true }).data?.compactions ?? [];

  // Only the last answer can be tried again.
  const { retry: _retry, checkConnection: _check, ...ofOlder } = fixes;

  useEffect(() => {
    if (wanted < 0 || at === undefined) return;
    stopScroll();
    document.getElementById(`message-${at}`)?.scrollIntoView({ block: "center" });
  }, [at, wanted, stopScroll]);

  function showEarlier() {
    // What is on the screen stays where it is when earlier messages come in above it.
    const scroller = scrollRef.current;
    const before = scroller?.scrollHeight ?? 0;
    flushSync(() => setFrom(Math.max(0, hidden - STEP)));
    if (scroller) scroller.scrollTop += scroller.scrollHeight - before;
  }

  function scrolled() {
    if (hidden > 0 && (scrollRef.current?.scrollTop ?? 0) < NEAR && !isAtBottom) showEarlier();
  }

  return (
    <div className="relative min-h-0 flex-1">
      <div ref={scrollRef} onScroll={scrolled} className="h-full overflow-y-auto">
        <div
          ref={contentRef}
          role="log"
          aria-live="off"
          aria-label={t("chat.thread")}
          className="mx-auto flex w-full max-w-[760px] flex-col gap-(--thread-gap) px-4 pt-8 pb-6"
        >
          {hidden > 0 && (
            <Button look="quiet" size="sm" className="self-center" onClick={showEarlier}>
              {t("chat.earlier", { n: Math.min(STEP, hidden) })}
            </Button>
          )}
          {items.map((item, place) => (
            <Fragment key={item.key}>
              <MessageView
                {...item.is}
                fixes={place === items.length - 1 ? fixes : ofOlder}
                actions={actions}
              />
              {lines
                .filter((line) => line.after === item.key)
                .map((line) => (
                  <CompactionLine key={line.id} conversation={thread.id} line={line} />
                ))}
            </Fragment>
          ))}
        </div>
      </div>
      {!isAtBottom && (
        <div className="pointer-events-none absolute inset-x-0 bottom-3 flex justify-center">
          <IconButton
            label={t("chat.toBottom")}
            look="plain"
            className="pointer-events-auto !rounded-full shadow-high"
            onClick={() => void scrollToBottom({ animation: calm() ? "instant" : "smooth" })}
          >
            <ArrowDown size={16} />
          </IconButton>
        </div>
      )}
      {/* What scrolls away fades a little instead of being cut. */}
      <div
        aria-hidden="true"
        className="pointer-events-none absolute inset-x-0 top-0 mr-3 h-5 bg-linear-to-b from-paper to-transparent"
      />
      <Announcer writing={thread.writing} />
    </div>
  );
}
