import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Tip } from "@/components/Tip";
import { MiniHull } from "@/gauge/Hull";
import { poolsOf, tightest } from "@/gauge/pools";
import { useFormat } from "@/i18n/format";
import { reasonText } from "@/i18n/reasons";
import { cx } from "@/lib/cx";
import type { Plan, Reason } from "@/wire/wire";

const TONES = {
  fits: { tone: "good", className: "bg-good-soft text-good-ink" },
  spills: { tone: "warn", className: "bg-warn-soft text-warn-ink" },
  tooBig: { tone: "bad", className: "bg-bad-soft text-bad-ink" },
} as const;

/** Words a page of a book holds, and the share of a word that a token is, in round numbers. */
const TOKENS_A_PAGE = 400;

export function pagesOf(tokens: number): number {
  const pages = tokens / TOKENS_A_PAGE;
  return pages < 20 ? Math.max(1, Math.round(pages)) : Math.round(pages / 5) * 5;
}

export function Pill({ tip, className, children }: { tip: string; className?: string; children: ReactNode }) {
  return (
    <Tip label={tip}>
      <span
        className={cx(
          "num inline-flex h-6 shrink-0 items-center gap-1.5 rounded-full px-2 text-xs whitespace-nowrap",
          className ?? "bg-sunken text-ink-2 ring-1 ring-hairline",
        )}
      >
        {children}
      </span>
    </Tip>
  );
}

function levelOf(plan: Plan): number {
  if (plan.verdict === "tooBig") return 1.25;
  const pool = tightest(poolsOf(plan.memory, undefined));
  if (!pool || pool.budgetBytes === 0) return 0.5;
  return pool.usedBytes / pool.budgetBytes;
}

/** Whether it fits, and when it fits but crawls, that as well: "fits" alone would promise too much. */
export function FitPill({ plan, against }: { plan: Plan | undefined; against?: Reason | undefined }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (!plan) return <Pill tip={t("fit.unknown")}>{t("fit.unknown")}</Pill>;
  if (plan.verdict !== "tooBig" && against?.code === "tooSlow") {
    return (
      <Pill tip={reasonText(t, format, against)} className={TONES.spills.className}>
        <MiniHull share={levelOf(plan)} tone="warn" size={14} />
        {t("fit.slow")}
      </Pill>
    );
  }
  const { tone, className } = TONES[plan.verdict];
  return (
    <Pill tip={t(`fit.${plan.verdict}About`)} className={className}>
      <MiniHull share={levelOf(plan)} tone={tone} size={14} />
      {t(`fit.${plan.verdict}`)}
    </Pill>
  );
}

/** The fit as a sign alone, where its words stand next to it or on a tooltip. */
export function FitDot({ plan, size = 16 }: { plan: Plan; size?: number }) {
  const { t } = useTranslation();
  return (
    <span role="img" aria-label={t(`fit.${plan.verdict}`)} className="inline-flex">
      <MiniHull share={levelOf(plan)} tone={TONES[plan.verdict].tone} size={size} />
    </span>
  );
}

export function ContextPill({ tokens }: { tokens: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Pill tip={t("fit.contextAbout", { n: tokens, pages: pagesOf(tokens) })}>
      {t("fit.context", { size: format.tokens(tokens) })}
    </Pill>
  );
}

export function SpeedPill({ plan }: { plan: Plan }) {
  const { t } = useTranslation();
  const format = useFormat();
  const speed = plan.speed;
  if (!speed) return null;
  return (
    <Pill tip={speed.basis === "measured" ? t("fit.speedMeasured") : t("fit.speedTable")}>
      {t("fit.speed", { range: format.range(speed.decodeTps.low, speed.decodeTps.high) })}
    </Pill>
  );
}
