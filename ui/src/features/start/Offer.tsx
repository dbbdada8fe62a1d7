import { FolderInput, Lock } from "lucide-react";
import { useState } from "react";
import { Trans, useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { Fold } from "@/components/Fold";
import { LicenceDialog } from "@/features/models/LicenceDialog";
import { pagesOf } from "@/features/picker/pills";
import { LoadGauge } from "@/gauge/LoadGauge";
import { mainPool, poolsOf } from "@/gauge/pools";
import { useFormat } from "@/i18n/format";
import { reasonText } from "@/i18n/reasons";
import { useAsk, useTell } from "@/state/ask";
import { useLive } from "@/state/live";
import { useView } from "@/state/view";
import type { Library, Machine, Plan, Reason, Recommendation } from "@/wire/wire";

import { ChooseDialog } from "./ChooseDialog";
import type { Wanted } from "./FirstStart";
import { MachineFacts, machineLine } from "./MachineFacts";

/** A usual line, for the one number that nobody can know before: how long the download takes. */
const USUAL_MBIT = 50;
/** Tokens to words in English prose, a round number. */
const WORDS_A_TOKEN = 0.75;

interface Candidate {
  model: string;
  quant: string;
  name: string;
  downloadBytes: number;
  onDisk: boolean;
  plan: Plan;
  why: Reason[];
}

/** What this computer can carry, why, what it costs, and one button. */
export function Offer({
  machine,
  recommendation,
  library,
  wanted,
  onWant,
  onImport,
  onStarted,
}: {
  machine: Machine;
  recommendation: Recommendation;
  library: Library;
  wanted: Wanted | undefined;
  onWant: (wanted: Wanted) => void;
  onImport: () => void;
  onStarted: () => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const [choosing, setChoosing] = useState(false);
  const [asking, setAsking] = useState(false);
  const start = useTell("setup/start");
  const engines = useAsk("engines/list", {});
  const pick = candidate(recommendation, library, wanted);
  const chosen = wanted !== undefined && pick !== undefined && !isPick(recommendation, pick);
  const entry = library.catalog.find((one) => one.id === pick?.model);
  const engine = engines.data?.engines.find((one) => one.inUse && !one.fault);

  function go(licenceAccepted: boolean) {
    if (!pick) return;
    start.mutate(
      { model: pick.model, quant: pick.quant, licenceAccepted },
      {
        onSuccess: (setup) => {
          useLive.setState({ setup });
          onStarted();
        },
      },
    );
  }

  const choose = (
    <Button look="quiet" size="lg" className="text-base" onClick={() => setChoosing(true)}>
      {t("start.choose")}
    </Button>
  );
  const dialogs = (
    <>
      {choosing && (
        <ChooseDialog
          library={library}
          recommendation={recommendation}
          onClose={() => setChoosing(false)}
          onChoose={(model) => {
            setChoosing(false);
            onWant(model);
          }}
        />
      )}
      {asking && entry && (
        <LicenceDialog
          entry={entry}
          onClose={() => setAsking(false)}
          onAgree={() => {
            setAsking(false);
            go(true);
          }}
        />
      )}
    </>
  );
  const facts = (
    <Fold
      className="-mt-2"
      label={
        <span className="min-w-0 text-base">
          {machineLine(t, format, machine)}
          <span className="sr-only">. {t("start.facts.show")}</span>
        </span>
      }
    >
      <div className="mt-2 mb-6 rounded-lg bg-raised px-4 py-2 ring-1 ring-hairline">
        <MachineFacts machine={machine} />
      </div>
    </Fold>
  );

  if (!pick) {
    return (
      <div>
        {facts}
        <h1 className="mt-3 text-3xl font-semibold">{t("start.nothingFits")}</h1>
        <ul className="mt-3 flex flex-col gap-1 text-md text-ink-2">
          {recommendation.why.map((reason) => (
            <li key={reason.code}>{reasonText(t, format, reason)}</li>
          ))}
          <li>{t("start.nothingFitsAbout")}</li>
        </ul>
        <div className="mt-6 flex flex-wrap gap-2">
          <Button look="primary" size="lg" onClick={onImport}>
            {t("start.import")}
          </Button>
          {choose}
        </div>
        {dialogs}
      </div>
    );
  }

  const pool = mainPool(poolsOf(pick.plan.memory, machine));
  const uses = pool && format.pair(pool.usedBytes, pool.totalBytes);
  const words = pick.plan.speed?.decodeTps;
  const seconds = (pick.downloadBytes * 8) / (USUAL_MBIT * 1e6);

  return (
    <div className="grid items-center gap-x-14 gap-y-6 md:grid-cols-[1fr_auto]">
      <div className="md:col-span-2">
        {facts}
        <h1 className="mt-3 text-3xl font-semibold">
          <Trans
            t={t}
            i18nKey={chosen ? "start.headlineChosen" : "start.headline"}
            values={{ name: pick.name }}
            components={{ b: <span className="text-sea-ink" /> }}
          />
        </h1>
      </div>
      <div className="min-w-0">
        <p className="num text-md text-ink-2">
          {uses &&
            pool &&
            (pool.host
              ? t("start.usesRam", { part: uses[0], whole: uses[1] })
              : t("start.uses", { part: uses[0], whole: uses[1], where: pool.name }))}{" "}
          {words && t("start.words", { words: format.number(words.mid * WORDS_A_TOKEN, 0) })}{" "}
          {t("start.contextWords", { pages: pagesOf(pick.plan.settings.context) })}
        </p>
        <ul className="mt-3 flex flex-col gap-1 text-base text-ink-2">
          {firstReasons(pick).map((reason) => (
            <li key={reason.code} className="flex gap-2.5">
              <span className="mt-2.25 h-0.5 w-3 shrink-0 rounded-full bg-signal" aria-hidden="true" />
              {reasonText(t, format, reason)}
            </li>
          ))}
        </ul>

        <dl className="num mt-6 grid max-w-lg grid-cols-[auto_1fr] gap-x-5 gap-y-1 text-base">
          <dt className="text-ink-3">{t("start.cost")}</dt>
          <dd className="m-0">
            {pick.onDisk ? t("start.costNothing") : format.bytes(pick.downloadBytes)}
            {!engine && <span className="text-ink-2"> {t("start.costWithEngine")}</span>}
          </dd>
          {!pick.onDisk && (
            <>
              <dt className="text-ink-3">{t("start.time")}</dt>
              <dd className="m-0">
                {t("start.timeAt", { time: format.seconds(seconds), speed: format.number(USUAL_MBIT, 0) })}
              </dd>
            </>
          )}
          <dt className="text-ink-3">{t("start.disk")}</dt>
          <dd className="m-0">{format.bytes(library.freeBytes)}</dd>
        </dl>

        {start.error && (
          <FaultCard
            fault={start.error.fault}
            className="mt-5"
            fixes={{
              retry: () => go(entry?.licence.accepted ?? false),
              checkConnection: () => go(entry?.licence.accepted ?? false),
              acceptLicence: () => setAsking(true),
              chooseOtherModel: () => setChoosing(true),
              importFile: onImport,
            }}
          />
        )}

        <div className="mt-7 flex flex-wrap items-center gap-2">
          <Button
            look="primary"
            size="lg"
            busy={start.isPending}
            className="px-7"
            onClick={() => {
              if (entry?.licence.consent && !entry.licence.accepted) setAsking(true);
              else go(false);
            }}
          >
            {pick.onDisk ? t("start.goOnDisk") : t("start.go")}
          </Button>
          {choose}
        </div>
      </div>

      {pool && (
        <div className="justify-self-center md:justify-self-end">
          <LoadGauge pool={pool} width={168} height={276} />
        </div>
      )}

      <div className="flex flex-wrap items-center gap-x-2 gap-y-2 border-t border-hairline pt-4 md:col-span-2">
        <p className="flex min-w-full flex-1 items-center gap-2 text-sm sm:min-w-56 text-ink-3">
          <Lock size={13} aria-hidden="true" />
          {t("start.private")}
        </p>
        <Button look="quiet" size="sm" onClick={onImport}>
          <FolderInput size={14} aria-hidden="true" />
          {t("start.import")}
        </Button>
        <Button look="quiet" size="sm" onClick={() => useView.setState({ startSkipped: true })}>
          {t("start.skip")}
        </Button>
      </div>
      {dialogs}
    </div>
  );
}

/** Settings of the engine are reasons for the plan's page, not for a first look. */
const LATER = new Set([
  "contextChosen",
  "batchChosen",
  "reserveKept",
  "fromCatalog",
  "turnTime",
  "speedMeasured",
  "speedOfOwnRun",
  "startTime",
]);

function firstReasons(pick: Candidate): Reason[] {
  return [...pick.why, ...pick.plan.why.filter((reason) => !LATER.has(reason.code))].slice(0, 3);
}

function isPick(recommendation: Recommendation, one: Candidate): boolean {
  return recommendation.pick?.model === one.model && recommendation.pick.quant === one.quant;
}

/** The chosen model with everything that the offer says about it. */
function candidate(
  recommendation: Recommendation,
  library: Library,
  wanted: Wanted | undefined,
): Candidate | undefined {
  const pick = recommendation.pick && { ...recommendation.pick, why: recommendation.why };
  if (!wanted || (pick && pick.model === wanted.model && pick.quant === wanted.quant)) return pick;
  const other = recommendation.alternatives.find(
    (one) => one.model === wanted.model && one.quant === wanted.quant,
  );
  if (other) return other;
  const disk = library.models.find(
    (one) => one.id === `${wanted.model}:${wanted.quant}` || one.id === wanted.model,
  );
  if (disk?.plan) {
    return { ...wanted, name: disk.name, downloadBytes: 0, onDisk: true, plan: disk.plan, why: [] };
  }
  const entry = library.catalog.find((one) => one.id === wanted.model);
  const variant = entry?.variants.find((one) => one.quant === wanted.quant);
  if (!entry || !variant?.plan) return pick;
  return {
    ...wanted,
    name: entry.name,
    downloadBytes: variant.bytes,
    onDisk: variant.state === "onDisk",
    plan: variant.plan,
    why: [],
  };
}
