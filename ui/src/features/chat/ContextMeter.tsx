import { Popover } from "@base-ui/react/popover";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button } from "@/components/Button";
import { Choice } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { say } from "@/components/Toasts";
import { useFormat } from "@/i18n/format";
import { cx } from "@/lib/cx";
import { copyText } from "@/lib/copy";
import { faultOfResult, useAsk, useHost, useTell } from "@/state/ask";
import type { CompactionMode, ContextReading, ContextView, Cost } from "@/wire/wire";

import { KeepDialog } from "./ArchiveDialog";

const MODES: readonly CompactionMode[] = ["automatic", "manual", "off"];

/** How full the conversation is, by which kind of count, and what can be done about it. */
export function ContextMeter({ conversation, answering }: { conversation: string; answering: boolean }) {
  const { t } = useTranslation();
  const asked = useAsk("context/read", { conversation }, { keepLast: true });
  const view = asked.data;
  if (!view) return null;
  return (
    <div className="flex min-h-7 flex-wrap items-center justify-end gap-x-3 gap-y-1 text-sm text-ink-3">
      {view.compacting && (
        <span role="status" className="mr-auto">
          {t("context.compacting")}
        </span>
      )}
      {!view.compacting && <Advice view={view} />}
      <Meter view={view} answering={answering} />
    </div>
  );
}

/** What the last gate wants a person to know. */
function Advice({ view }: { view: ContextView }) {
  const { t } = useTranslation();
  const verdict = view.decision?.verdict;
  if (verdict !== "suggest" && verdict !== "warn") return null;
  return (
    <span role="status" className="mr-auto text-warn-ink">
      {t(verdict === "warn" ? "context.warn" : "context.suggest")}
    </span>
  );
}

export function useReading(): (reading: ContextReading, window: number | undefined) => string {
  const { t } = useTranslation();
  const format = useFormat();
  return (reading, window) => {
    if (reading.tokens === undefined) return t("context.unknown");
    const error = reading.error ? ` ± ${format.count(reading.error)}` : "";
    const tokens = `${format.count(reading.tokens)}${error}`;
    return window === undefined ? tokens : t("context.of", { tokens, window: format.count(window) });
  };
}

function Meter({ view, answering }: { view: ContextView; answering: boolean }) {
  const { t } = useTranslation();
  const text = useReading();
  const { reading, window } = view;
  const share = reading.tokens !== undefined && window ? Math.min(1, reading.tokens / window) : undefined;
  const high =
    view.threshold !== undefined && reading.tokens !== undefined && reading.tokens >= view.threshold;
  return (
    <Popover.Root>
      <Popover.Trigger
        aria-label={t("context.open", { reading: text(reading, window) })}
        className={cx(
          "flex h-7 items-center gap-2 rounded-lg px-2 hover:bg-pressed/70",
          high ? "text-warn-ink" : "text-ink-3",
        )}
      >
        {share !== undefined && (
          <span aria-hidden="true" className="block h-1.5 w-16 overflow-hidden rounded-full bg-pressed">
            <span
              className={cx("block h-full rounded-full", high ? "bg-warn" : "bg-sea")}
              style={{ width: `${share * 100}%` }}
            />
          </span>
        )}
        <span>{text(reading, window)}</span>
        <span className="text-xs">{t(`context.kind.${reading.kind}`)}</span>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner side="top" align="end" sideOffset={8} className="z-30">
          <Popover.Popup
            aria-label={t("context.title")}
            className="w-96 max-w-[calc(100vw-2rem)] rounded-xl bg-raised p-4 text-sm shadow-high outline-hidden"
          >
            <Details view={view} answering={answering} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function useCost(): (cost: Cost) => string {
  const { i18n } = useTranslation();
  return ({ dollars }) =>
    new Intl.NumberFormat(i18n.language, {
      style: "currency",
      currency: "USD",
      maximumSignificantDigits: dollars < 1 ? 2 : 4,
    }).format(dollars);
}

function Details({ view, answering }: { view: ContextView; answering: boolean }) {
  const { t } = useTranslation();
  const format = useFormat();
  const host = useHost();
  const text = useReading();
  const cost = useCost();
  const compact = useTell("context/compact");
  const mode = useTell("context/setMode");
  const [keep, setKeep] = useState(false);
  const { conversation, reading, window, threshold } = view;
  const fault = faultOfResult(compact) ?? faultOfResult(mode);
  const busy = answering || view.compacting || compact.isPending;

  async function report() {
    const replay = await host.call("context/report", { conversation });
    say(t((await copyText(JSON.stringify(replay, null, 1))) ? "context.reported" : "app.copyFailed"));
  }

  return (
    <>
      <p className="text-base font-medium">{t("context.title")}</p>
      {reading.tokens !== undefined && window !== undefined && (
        <Bar
          label={t("context.title")}
          value={Math.min(1, reading.tokens / window)}
          valueText={text(reading, window)}
          className="mt-2"
        />
      )}
      <p className="mt-2">
        {text(reading, window)}. {t(`context.kindAbout.${reading.kind}`)}
      </p>
      {threshold !== undefined && (
        <p className="mt-1 text-ink-2">{t("context.threshold", { tokens: format.count(threshold) })}</p>
      )}
      {view.decision && (
        <p className="mt-1 text-ink-2">
          {t("context.lastGate", { reason: t(`context.reason.${view.decision.reason}`) })}
        </p>
      )}
      {view.imagePrice !== undefined && (
        <p className="mt-1 text-ink-2">{t("context.image", { tokens: format.count(view.imagePrice) })}</p>
      )}
      {view.cost && (
        <p className="mt-1 text-ink-2">
          {view.turnCost
            ? t("context.costs", { all: cost(view.cost), turn: cost(view.turnCost) })
            : t("context.cost", { all: cost(view.cost) })}
        </p>
      )}
      <p className="mt-3 mb-1">{t("context.mode")}</p>
      <Choice
        label={t("context.mode")}
        value={view.mode}
        options={MODES.map((value) => ({ value, label: t(`context.modes.${value}`) }))}
        onChange={(next) => mode.mutate({ conversation, mode: next })}
      />
      <p className="mt-1 text-ink-3">{t(`context.modeAbout.${view.mode}`)}</p>
      <div className="mt-3 flex flex-wrap items-center gap-2">
        <Button size="sm" disabled={busy} onClick={() => compact.mutate({ conversation })}>
          {t("context.compactNow")}
        </Button>
        <Button size="sm" look="quiet" disabled={busy} onClick={() => setKeep(true)}>
          {t("context.whatStays")}
        </Button>
        <Button size="sm" look="quiet" onClick={() => void report()}>
          {t("context.report")}
        </Button>
      </div>
      {compact.data && (
        <p role="status" className="mt-2 text-ink-2">
          {t(`context.outcome.${compact.data.outcome}`)}
        </p>
      )}
      {fault && <FaultCard fault={fault} fixes={{}} className="mt-3" />}
      {keep && <KeepDialog conversation={conversation} onClose={() => setKeep(false)} />}
    </>
  );
}
