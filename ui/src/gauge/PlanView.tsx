import { Slider } from "@base-ui/react/slider";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Choice, Toggle } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { Spinner } from "@/components/Spinner";
import { pagesOf } from "@/features/picker/pills";
import { useFormat } from "@/i18n/format";
import { faultOfResult, useAsk } from "@/state/ask";
import { useLive } from "@/state/live";
import type { Machine, Plan, PlanWishes } from "@/wire/wire";

import { LoadGauge } from "./LoadGauge";
import { contextSteps, nearestStep, type Pool, poolsOf, tightest, withContext } from "./pools";

/** How long the water rests before the planner is asked again. */
const SETTLE_MS = 180;

/** What matters where not everything can be had. */
const GOALS = ["balanced", "longestContext", "fastest"] as const;
type Goal = (typeof GOALS)[number];

interface PlanGaugesProps {
  model: string;
  plan: Plan;
  machine: Machine | undefined;
  /** Called with every plan that is shown, so that the words beside the gauge follow it. */
  onPlan?: (plan: Plan) => void;
  /** Offers to load with what was chosen. */
  onLoad?: (wishes: PlanWishes) => void;
}

/**
 * The gauges of a plan, with what matters, what guesses ahead and a context that can be dragged: the water moves at
 * once, the plan follows.
 */
export function PlanGauges({ model, plan: given, machine, onPlan, onLoad }: PlanGaugesProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const sample = useLive((live) => live.sample);
  const [goal, setGoal] = useState<Goal>("balanced");
  const [guess, setGuess] = useState(false);
  const [dragged, setDragged] = useState<number>();
  const [settled, setSettled] = useState<number>();
  const wishes: PlanWishes = {
    ...(goal === "balanced" ? {} : { goal }),
    ...(settled === undefined ? {} : { context: settled }),
    ...(guess ? { draft: "own" } : {}),
  };
  const asked = Object.keys(wishes).length > 0;
  const made = useAsk("plan/make", { model, wishes }, { enabled: asked, keepLast: true });
  const plan = asked ? (made.data ?? given) : given;
  const planned = plan.settings.context;
  const context = dragged ?? planned;
  const steps = contextSteps(Math.max(given.model.contextTrained, planned));
  const pools = withContext(poolsOf(plan.memory, machine, sample), planned, context);
  const tight = tightest(pools);
  const fault = asked ? faultOfResult(made) : undefined;
  const thinking = dragged !== settled || made.isFetching;

  useEffect(() => {
    if (dragged === settled) return;
    const timer = setTimeout(() => setSettled(dragged), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [dragged, settled]);

  useEffect(() => onPlan?.(plan), [plan, onPlan]);

  function drag(pool: Pool, bytes: number) {
    const now = pool.parts.find((part) => part.layer === "context")?.bytes ?? 0;
    if (now <= 0) return;
    const wanted = (context * bytes) / now;
    setDragged(steps[nearestStep(steps, Math.max(1, wanted))] ?? context);
  }

  function reset() {
    setGoal("balanced");
    setGuess(false);
    setDragged(undefined);
    setSettled(undefined);
  }

  const index = nearestStep(steps, context);
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap gap-x-6 gap-y-7">
        {pools.map((pool) => {
          const [used, whole] = format.pair(pool.usedBytes, pool.totalBytes);
          const movable = pool.parts.some((part) => part.layer === "context");
          return (
            <div key={pool.id} className="min-w-0">
              <p className="mb-3 text-sm">
                <span className="font-medium">{pool.host ? t("gauge.memory") : pool.name}</span>
                <span className="num block text-ink-2">{t("start.moved", { part: used, whole })}</span>
              </p>
              <LoadGauge
                pool={pool}
                width={84}
                height={200}
                labels={168}
                {...(movable ? { onDrag: (bytes) => drag(pool, bytes) } : {})}
              />
            </div>
          );
        })}
      </div>

      {tight && tight.overBytes > 0 && (
        <p className="rounded-md bg-warn-soft px-3 py-2 text-sm text-warn-ink" role="status">
          {t("gauge.above", { bytes: format.bytes(tight.overBytes) })}.{" "}
          {t(contextAloneHelps(tight) ? "gauge.aboveFix" : "gauge.aboveFixVariant")}
        </p>
      )}
      {fault && <FaultCard fault={fault} fixes={{ retry: () => void made.refetch() }} />}

      <div className="flex flex-wrap items-center gap-x-6 gap-y-3 text-sm">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
          <span className="font-medium" aria-hidden="true">
            {t("gauge.goal")}
          </span>
          <Choice
            label={t("gauge.goal")}
            value={goal}
            options={GOALS.map((value) => ({ value, label: t(`gauge.goals.${value}`) }))}
            onChange={(next) => {
              setGoal(next);
              setDragged(undefined);
              setSettled(undefined);
            }}
          />
        </div>
        {given.model.draftingLayers > 0 && (
          <div className="flex items-center gap-3">
            <span className="font-medium" aria-hidden="true">
              {t("gauge.guess")}
            </span>
            <Toggle label={t("gauge.guess")} checked={guess} onChange={setGuess} />
          </div>
        )}
        <p className="basis-full text-ink-2">
          {t(`gauge.goalAbout.${goal}`)}
          {given.model.draftingLayers > 0 && ` ${t("gauge.guessAbout")}`}
        </p>
      </div>

      <div>
        <div className="mb-1 flex flex-wrap items-baseline gap-x-3 text-sm">
          <span className="font-medium">{t("gauge.contextSize")}</span>
          <span className="num text-ink-2">
            {t("gauge.contextValue", { n: context, pages: pagesOf(context) })}
          </span>
          {thinking && <Spinner size={12} className="self-center text-ink-3" />}
        </div>
        <Slider.Root
          min={0}
          max={steps.length - 1}
          value={index}
          onValueChange={(value) => setDragged(steps[Number(value)] ?? context)}
        >
          <Slider.Control className="flex w-full touch-none items-center px-2.5 py-2.5 select-none">
            <Slider.Track className="h-1.5 w-full rounded-full bg-pressed">
              <Slider.Indicator className="rounded-full bg-(--water-context)" />
              <Slider.Thumb
                getAriaLabel={() => t("gauge.contextSize")}
                getAriaValueText={() => t("gauge.contextValue", { n: context, pages: pagesOf(context) })}
                className="size-5 rounded-full bg-raised shadow-low ring-1 ring-control has-[:focus-visible]:outline-2 has-[:focus-visible]:outline-offset-2 has-[:focus-visible]:outline-focus"
              />
            </Slider.Track>
          </Slider.Control>
        </Slider.Root>
        <div className="num flex justify-between text-xs text-ink-3">
          <span>{format.tokens(steps[0] ?? 0)}</span>
          <span>{format.tokens(steps.at(-1) ?? 0)}</span>
        </div>
        {(asked || dragged !== undefined) && (
          <div className="mt-3 flex flex-wrap gap-2">
            {onLoad && (
              <Button
                look="primary"
                size="sm"
                disabled={plan.verdict === "tooBig" || thinking}
                onClick={() => onLoad(wishes)}
              >
                {t("gauge.loadWith", { size: format.tokens(context) })}
              </Button>
            )}
            <Button size="sm" look="quiet" onClick={reset}>
              {t("gauge.reset")}
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

/** Whether less conversation would bring the water under the line, or the rest is too much already. */
function contextAloneHelps(pool: Pool): boolean {
  const context = pool.parts.find((part) => part.layer === "context")?.bytes ?? 0;
  return pool.usedBytes - context < pool.budgetBytes;
}
