import { Check, TriangleAlert, Wrench } from "lucide-react";
import { useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { Fold } from "@/components/Fold";
import { Spinner } from "@/components/Spinner";
import { faultOfResult, useTell } from "@/state/ask";
import type { Writing } from "@/state/hear";
import type { ToolAnswer, ToolEffect, ToolUse } from "@/wire/wire";

/** What was done on the way to an answer, folded: what was called with what, and what came of it. */
export function ToolCards({ tools, now }: { tools: ToolUse[]; now: boolean }) {
  const { t } = useTranslation();
  if (tools.length === 0) return null;
  return (
    <ul aria-label={t("chat.tools.done")} className="mb-3 flex flex-col gap-1.5">
      {tools.map((one) => (
        <li key={one.id} className="rounded-lg bg-sunken px-3 py-1.5 ring-1 ring-hairline">
          <Fold
            label={
              <span className="flex min-w-0 items-center gap-2 text-sm">
                <State use={one} now={now} />
                <span className="font-medium">{one.name}</span>
                <span className="truncate font-mono text-xs text-ink-3">{one.arguments}</span>
              </span>
            }
          >
            <pre className="mt-1.5 max-h-72 overflow-auto font-mono text-xs whitespace-pre-wrap">
              {one.result?.text ?? t("chat.tools.noResult")}
            </pre>
          </Fold>
        </li>
      ))}
    </ul>
  );
}

function State({ use, now }: { use: ToolUse; now: boolean }) {
  const { t } = useTranslation();
  if (!use.result) {
    return now ? (
      <Spinner />
    ) : (
      <Wrench size={14} className="shrink-0" aria-label={t("chat.tools.interrupted")} />
    );
  }
  return use.result.failed ? (
    <TriangleAlert size={14} className="shrink-0 text-warn-ink" aria-label={t("chat.tools.failed")} />
  ) : (
    <Check size={14} className="shrink-0 text-good-ink" aria-label={t("chat.tools.worked")} />
  );
}

const ANSWERS: readonly ToolAnswer[] = ["once", "tool", "conversation", "no"];

/** A call that changes something or asks somebody: what it would do is shown, and nothing happens before a yes. */
export function ToolQuestion({ asked }: { asked: NonNullable<Writing["asked"]> }) {
  const { t } = useTranslation();
  const conversation = useParams({ strict: false }).id ?? "";
  const answer = useTell("tools/answer");
  const fault = faultOfResult(answer);
  return (
    <section
      role="alertdialog"
      aria-label={t("chat.tools.mayI", { tool: asked.tool })}
      className="mb-3 rounded-lg bg-raised px-4 py-3 shadow-low ring-1 ring-border"
    >
      <p className="text-base font-medium">{t("chat.tools.mayI", { tool: asked.tool })}</p>
      <Effect effect={asked.effect} />
      <div className="mt-3 flex flex-wrap gap-2">
        {ANSWERS.map((one) => (
          <Button
            key={one}
            size="sm"
            look={one === "once" ? "primary" : "quiet"}
            disabled={answer.isPending}
            onClick={() => answer.mutate({ conversation, call: asked.call, answer: one })}
          >
            {t(`chat.tools.answer.${one}`, { tool: asked.tool })}
          </Button>
        ))}
      </div>
      {fault && <FaultCard fault={fault} fixes={{}} className="mt-3" />}
    </section>
  );
}

function Effect({ effect }: { effect: ToolEffect }) {
  const { t } = useTranslation();
  switch (effect.kind) {
    case "nothing":
      return null;
    case "reads":
      return (
        <p className="mt-1 text-sm break-all text-ink-2">{t("chat.tools.reads", { path: effect.path })}</p>
      );
    case "fetches":
      return (
        <p className="mt-1 text-sm break-all text-ink-2">{t("chat.tools.fetches", { url: effect.url })}</p>
      );
    case "writes":
      return (
        <div className="mt-1 text-sm text-ink-2">
          <p className="break-all">
            {t(effect.before === undefined ? "chat.tools.creates" : "chat.tools.writes", {
              path: effect.path,
            })}
          </p>
          <pre className="mt-1.5 max-h-72 overflow-auto rounded-md bg-sunken p-2 font-mono text-xs whitespace-pre-wrap">
            {changedLines(effect.before ?? "", effect.after)}
          </pre>
        </div>
      );
    default:
      return effect satisfies never;
  }
}

/** The lines that differ, with the ends that are alike left out. */
export function changedLines(before: string, after: string): string {
  const old = before === "" ? [] : before.split("\n");
  const next = after.split("\n");
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < next.length - start &&
    old[old.length - 1 - end] === next[next.length - 1 - end]
  ) {
    end += 1;
  }
  return [
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...next.slice(start, next.length - end).map((line) => `+ ${line}`),
  ].join("\n");
}
