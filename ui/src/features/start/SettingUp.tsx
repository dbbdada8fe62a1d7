import { Check, CircleAlert, CircleStop } from "lucide-react";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { Spinner } from "@/components/Spinner";
import { LoadGauge } from "@/gauge/LoadGauge";
import { mainPool, poolsOf } from "@/gauge/pools";
import { useFormat } from "@/i18n/format";
import { cx } from "@/lib/cx";
import { useTell } from "@/state/ask";
import { routerModels, useLive } from "@/state/live";
import { modelName } from "@/state/models";
import type { Library, Machine, Setup, SetupStep, StepState } from "@/wire/wire";

import { useFixes } from "../chat/fixes";
import { overall } from "./progress";

/** Long enough to see that it is done, short enough not to wait. */
const READY_PAUSE_MS = 2500;

export function SettingUp({
  setup,
  machine,
  library,
  onOther,
  onReady,
}: {
  setup: Setup;
  machine: Machine | undefined;
  library: Library | undefined;
  onOther: () => void;
  onReady: () => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const router = useLive((live) => live.router);
  const start = useTell("setup/start");
  const stop = useTell("setup/stop");
  const pair = `${setup.model}:${setup.quant}`;
  // A file that the catalog does not know goes by its own id.
  const id = library?.models.some((one) => one.id === setup.model) ? setup.model : pair;
  const name = modelName(id, library, routerModels(router));
  const loaded = routerModels(router).find((one) => one.id === id);
  const value = overall(setup, loaded?.progress?.value);
  const plan =
    library?.models.find((one) => one.id === id)?.plan ??
    library?.catalog.find((one) => one.id === setup.model)?.variants.find((one) => one.quant === setup.quant)
      ?.plan;
  const pool = plan && mainPool(poolsOf(plan.memory, machine));
  const [part, whole] = format.pair(setup.doneBytes, setup.totalBytes);

  // Consent was given when this setup was started; going on needs no second one.
  const resume = () => start.mutate({ model: setup.model, quant: setup.quant, licenceAccepted: true });
  const fixes = useFixes({ model: id, retry: resume });

  useEffect(() => {
    if (!setup.done) return;
    const timer = setTimeout(onReady, READY_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [setup.done, onReady]);

  return (
    <div className="grid items-center gap-x-12 gap-y-8 md:grid-cols-[1fr_auto]">
      <div className="min-w-0">
        <h1 className="text-3xl font-semibold">
          {setup.done ? t("start.ready", { name }) : t("start.settingUp", { name })}
        </h1>

        <div className="num mt-6 flex min-h-5 items-baseline gap-4 text-base">
          <span className="text-lg font-semibold">{format.percent(value)}</span>
          <span className="flex-1 text-ink-2">
            {setup.totalBytes > 0 && t("start.moved", { part, whole })}
          </span>
          {setup.running && setup.secondsLeft !== undefined && setup.secondsLeft > 0 && (
            <span className="text-ink-2">{t("start.left", { time: format.seconds(setup.secondsLeft) })}</span>
          )}
        </div>
        <Bar label={t("start.settingUp", { name })} value={value} className="mt-2 [&>span]:h-2" />

        <ol className="mt-6 flex flex-col gap-3.5" aria-live="polite">
          {setup.steps.map((step) => (
            <Step key={step.name} step={step} setup={setup} loading={loaded?.progress?.value} />
          ))}
        </ol>

        {setup.done && loaded?.proof && (
          <p className="num mt-6 text-base text-ink-2">
            {t("start.proved", {
              tps: format.number(loaded.proof.decodeTps),
              used: format.bytes(loaded.proof.residentBytes),
            })}{" "}
            {loaded.proof.plannedTps &&
              t("start.planned", {
                range: format.range(loaded.proof.plannedTps.low, loaded.proof.plannedTps.high),
                bytes: format.bytes(loaded.proof.plannedBytes),
              })}
          </p>
        )}
        {setup.fault && (
          <FaultCard fault={setup.fault} className="mt-6" fixes={{ ...fixes, chooseOtherModel: onOther }} />
        )}
        {start.error && (
          <FaultCard
            fault={start.error.fault}
            className="mt-6"
            fixes={{ ...fixes, chooseOtherModel: onOther }}
          />
        )}
        {!setup.running && !setup.done && !setup.fault && (
          <p className="mt-6 text-base text-ink-2">{t("start.stopped")}</p>
        )}
        <div className="mt-6 flex flex-wrap gap-2">
          {setup.running && (
            <Button onClick={() => stop.mutate({})}>
              <CircleStop size={15} aria-hidden="true" />
              {t("start.stop")}
            </Button>
          )}
          {!setup.running && !setup.done && !setup.fault && (
            <Button look="primary" onClick={resume} busy={start.isPending}>
              {t("start.resume")}
            </Button>
          )}
          {!setup.running && !setup.done && !setup.fault && (
            <Button look="quiet" onClick={onOther}>
              {t("start.choose")}
            </Button>
          )}
          {setup.done && (
            <Button look="primary" onClick={onReady}>
              {t("start.toChat")}
            </Button>
          )}
        </div>
      </div>
      {pool && (
        <div className="justify-self-center md:justify-self-end">
          <LoadGauge pool={pool} width={168} height={276} filled={value} />
        </div>
      )}
    </div>
  );
}

const MARKS: Record<StepState, string> = {
  waiting: "text-ink-3 ring-1 ring-border",
  running: "text-sea-ink",
  done: "bg-good-soft text-good-ink",
  failed: "bg-bad-soft text-bad-ink",
  stopped: "text-ink-2 ring-1 ring-border",
};

function Step({ step, setup, loading }: { step: SetupStep; setup: Setup; loading: number | undefined }) {
  const { t } = useTranslation();
  const format = useFormat();
  const about =
    step.name === "model" && setup.totalBytes > 0
      ? t("start.stepAbout.model", { bytes: setup.totalBytes })
      : step.name === "model"
        ? t("start.stepAbout.modelOnDisk")
        : t(`start.stepAbout.${step.name}`);
  const value = step.value ?? (step.name === "start" ? loading : undefined);
  return (
    <li className="flex items-center gap-3.5" aria-current={step.state === "running" ? "step" : undefined}>
      <span className={cx("grid size-7 shrink-0 place-items-center rounded-full", MARKS[step.state])}>
        {step.state === "done" && <Check size={15} strokeWidth={2.5} aria-hidden="true" />}
        {step.state === "running" && <Spinner size={18} />}
        {step.state === "failed" && <CircleAlert size={16} aria-hidden="true" />}
      </span>
      <span className="min-w-0 flex-1">
        <span className={cx("block text-base", step.state === "waiting" ? "text-ink-2" : "font-medium")}>
          {t(`start.steps.${step.name}`)}
          <span className="sr-only">, {t(`start.stepState.${step.state}`)}</span>
        </span>
        <span className="num block text-sm text-ink-3">{about}</span>
      </span>
      {step.state === "running" && value !== undefined && (
        <span className="num text-sm text-ink-2">{format.percent(value)}</span>
      )}
    </li>
  );
}
