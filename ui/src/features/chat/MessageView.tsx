import { RotateCcw } from "lucide-react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/Button";
import { Bar } from "@/components/Bar";
import { CopyButton } from "@/components/CopyButton";
import { FaultCard, type FixActions } from "@/components/FaultCard";
import { Fold } from "@/components/Fold";
import { Tip } from "@/components/Tip";
import { faultTitle } from "@/i18n/faults";
import { useFormat } from "@/i18n/format";
import { Markdown } from "@/markdown";
import type { Writing } from "@/state/hear";
import type { Fault, Message, TurnStats } from "@/wire/wire";

import { BranchNav } from "./BranchNav";
import { OwnMessage } from "./OwnMessage";
import { ToolCards, ToolQuestion } from "./ToolCards";

/** What can be done with a message. None while an answer is being written. */
export interface MessageActions {
  /** Answers its question once more. */
  again?: (message: string) => void;
  /** Asks it differently; says whether that was taken. */
  edit?: (message: string, text: string) => Promise<boolean>;
  /** Shows the branch that a message is on. */
  show?: (message: string) => void;
}

/**
 * One message. An answer that is being written and the same answer when it is finished are one component, so
 * that nothing is built again when its last word has come.
 */
export function MessageView({
  message,
  writing,
  fixes,
  actions,
}: {
  message?: Message;
  writing?: Writing;
  fixes: FixActions;
  actions: MessageActions;
}) {
  const { t } = useTranslation();
  if (message?.role === "user") return <OwnMessage message={message} actions={actions} />;
  const branch = message?.branch ?? writing?.branch;
  const text = message?.text ?? writing?.text ?? "";
  const reasoning = message?.reasoning ?? writing?.reasoning ?? "";
  return (
    <article
      {...(message ? { id: `message-${message.id}` } : {})}
      aria-label={t("chat.assistant")}
      aria-busy={writing ? true : undefined}
      className="message group/message min-h-16"
    >
      {reasoning !== "" && <Reasoning text={reasoning} now={writing !== undefined && text === ""} />}
      <ToolCards tools={message?.tools ?? writing?.tools ?? []} now={writing !== undefined} />
      {writing?.asked && <ToolQuestion asked={writing.asked} />}
      {text !== "" && <Markdown text={text} streaming={writing !== undefined} />}
      {writing && text === "" && reasoning === "" && !writing.asked && (
        <>
          {writing.patience ? (
            <Patience patience={writing.patience} />
          ) : (
            <PromptProgress {...(writing.prompt ? { prompt: writing.prompt } : {})} />
          )}
        </>
      )}
      {message && <EndNote message={message} />}
      {message?.fault && <FaultCard fault={message.fault} fixes={fixes} className="mt-3" />}
      {/* The line is there from the start, so that nothing moves when its figures come. */}
      <div className="mt-2 -ml-1.5 flex min-h-7 items-center gap-1 text-ink-3">
        {message && text !== "" && <CopyButton label={t("chat.copyAnswer")} text={() => text} />}
        {message && actions.again && (
          <IconButton label={t("chat.again")} size="sm" onClick={() => actions.again?.(message.id)}>
            <RotateCcw size={15} />
          </IconButton>
        )}
        {branch && <BranchNav branch={branch} onShow={message && actions.show} />}
        {message?.stats && <Stats stats={message.stats} />}
      </div>
    </article>
  );
}

/** Fractions of a cent count: most answers cost less than one. */
function dollars(amount: number): string {
  return amount === 0 || amount >= 0.01 ? amount.toFixed(2) : amount.toPrecision(2);
}

function Patience({ patience }: { patience: { afterMs: number; fault: Fault } }) {
  const { t } = useTranslation();
  return (
    <p role="status" className="num text-sm text-ink-3">
      {t("chat.patience", {
        why: faultTitle(t, patience.fault),
        seconds: Math.max(1, Math.round(patience.afterMs / 1000)),
      })}
    </p>
  );
}

function PromptProgress({ prompt }: { prompt?: { done: number; total: number } }) {
  const { t } = useTranslation();
  const reading = prompt !== undefined && prompt.done < prompt.total;
  const text = reading ? t("chat.promptRead", prompt) : prompt ? t("chat.waiting") : t("chat.promptStart");
  return (
    <div className="num w-72 max-w-full text-sm text-ink-3">
      <p className="mb-2">{text}</p>
      <Bar label={text} value={prompt && prompt.total > 0 ? prompt.done / prompt.total : undefined} />
    </div>
  );
}

function Reasoning({ text, now = false }: { text: string; now?: boolean }) {
  const { t } = useTranslation();
  return (
    <Fold
      className="mb-3"
      label={
        <span className={now ? "breathe" : undefined}>
          {now ? t("chat.reasoningNow") : t("chat.reasoning")}
        </span>
      }
    >
      <div className="mt-1 ml-1.5 border-l-2 border-hairline pl-4 text-base whitespace-pre-wrap text-ink-2">
        {text}
      </div>
    </Fold>
  );
}

function EndNote({ message }: { message: Message }) {
  const { t } = useTranslation();
  switch (message.end) {
    case undefined:
    case "complete":
      return null;
    case "failed":
      // The fault says more.
      return message.fault ? null : <Note text={t("chat.end.failed")} />;
    case "length":
    case "stopped":
    case "interrupted":
      return <Note text={t(`chat.end.${message.end}`)} />;
    default:
      return message.end satisfies never;
  }
}

function Note({ text }: { text: string }) {
  return <p className="mt-2 inline-block rounded-sm bg-sunken px-2 py-0.5 text-sm text-ink-2">{text}</p>;
}

/** What the answer took. A number that was not measured is not shown. */
function Stats({ stats }: { stats: TurnStats }) {
  const { t } = useTranslation();
  const format = useFormat();
  const parts = [stats.route === "local" ? t("chat.local") : stats.route];
  if (stats.cost !== undefined)
    parts.push(t(`chat.cost.${stats.cost.by}`, { dollars: dollars(stats.cost.dollars) }));
  if (stats.decodeTps !== undefined) parts.push(t("chat.tps", { value: format.number(stats.decodeTps) }));
  if (stats.firstTokenMs !== undefined) {
    parts.push(t("chat.firstToken", { time: format.seconds(stats.firstTokenMs / 1000) }));
  }
  if (stats.toolsLeftOut && stats.toolsLeftOut.length > 0) {
    parts.push(t("chat.toolsLeftOut", { names: stats.toolsLeftOut.join(", ") }));
  }
  if (stats.completionTokens !== undefined) parts.push(t("chat.tokens", { n: stats.completionTokens }));
  const line = (
    <p className="num flex flex-wrap gap-x-3 text-xs" aria-label={t("chat.statsLabel")}>
      {parts.map((part) => (
        <span key={part}>{part}</span>
      ))}
    </p>
  );
  if (stats.cachedTokens === undefined || stats.promptTokens === undefined) return line;
  return <Tip label={t("chat.cached", { n: stats.cachedTokens, total: stats.promptTokens })}>{line}</Tip>;
}
