import { Check, CircleCheck, CircleX, FolderPlus, MoreHorizontal, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button, IconButton } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { FaultCard } from "@/components/FaultCard";
import { Fold } from "@/components/Fold";
import { Menu, MenuItem } from "@/components/Menu";
import { PathDialog } from "@/components/PathDialog";
import { Spinner } from "@/components/Spinner";
import { say } from "@/components/Toasts";
import { faultTitle } from "@/i18n/faults";
import { useFormat } from "@/i18n/format";
import { reasonText } from "@/i18n/reasons";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import { isActive, MOVE, useLive } from "@/state/live";
import type { Check as CheckReply, EngineBuild, Fault } from "@/wire/wire";

import { Group } from "./Group";

/** The llama.cpp builds we know, and the ways to get another. */
export function Engines() {
  const { t } = useTranslation();
  const format = useFormat();
  const list = useAsk("engines/list", {});
  const install = useTell("engines/install");
  const transfers = useLive((live) => live.transfers);
  const [adding, setAdding] = useState(false);
  const fault = faultOfResult(list);
  const engines = list.data?.engines ?? [];
  const available = list.data?.available ?? [];
  const offers = list.data?.offers ?? [];
  const passed = list.data?.passed ?? [];
  const previous = list.data?.previous;
  const back = useTell("engines/rollBack");
  const models = useAsk("models/list", {});
  const isModel = (subject: string) =>
    // A file of the hub has its repository in its name, an engine never.
    subject.includes("/") ||
    (models.data?.catalog.some((one) => subject.startsWith(`${one.id}:`)) ?? subject.includes(":"));
  const fetching = Object.values(transfers).filter(
    (one) => isActive(one) && one.id !== MOVE && !isModel(one.subject),
  );
  const begin = (flavour?: string) => install.mutate(flavour ? { flavour } : {});

  return (
    <Group id="engines" title={t("settings.engines")} about={t("settings.enginesAbout")}>
      {fault && <FaultCard fault={fault} fixes={{ retry: () => void list.refetch() }} className="m-3" />}
      {list.isPending && (
        <p className="flex items-center gap-2 px-4 py-3 text-base text-ink-3" role="status">
          <Spinner size={14} /> {t("settings.enginesReading")}
        </p>
      )}
      {list.data && engines.length === 0 && (
        <p className="px-4 py-3 text-base text-ink-2">{t("settings.engineNone")}</p>
      )}
      {engines.map((engine) => (
        <EngineRow key={engine.id} engine={engine} onAdd={() => setAdding(true)} onInstall={() => begin()} />
      ))}
      {fetching.map((one) => (
        <div key={one.id} className="num px-4 py-3 text-base">
          <div className="mb-1.5 flex gap-3">
            <span className="flex-1">{one.subject}</span>
            <span className="text-sm text-ink-2">{format.rate(one.bytesPerS)}</span>
          </div>
          <Bar
            label={one.subject}
            value={one.totalBytes === 0 ? undefined : one.doneBytes / one.totalBytes}
          />
        </div>
      ))}
      {install.error && (
        <FaultCard
          fault={install.error.fault}
          className="m-3"
          fixes={{ retry: () => begin(), checkConnection: () => begin(), addEngine: () => setAdding(true) }}
        />
      )}
      <div className="flex flex-wrap items-center gap-2 px-4 py-3">
        {available.slice(0, 3).map((flavour, index) => (
          <Button
            key={flavour}
            size="sm"
            look={index === 0 && engines.length === 0 ? "primary" : "plain"}
            busy={install.isPending}
            onClick={() => begin(flavour)}
          >
            {t("settings.engineInstall", { flavour })}
          </Button>
        ))}
        {list.data && available.length === 0 && (
          <Button size="sm" busy={install.isPending} onClick={() => begin()}>
            {t("settings.engineInstallAny")}
          </Button>
        )}
        <Button size="sm" look="quiet" onClick={() => setAdding(true)}>
          <FolderPlus size={14} aria-hidden="true" />
          {t("settings.engineAdd")}
        </Button>
      </div>
      <Newest />
      {previous && (
        <div className="px-4 py-3">
          <Button size="sm" busy={back.isPending} onClick={() => back.mutate({})}>
            {t("settings.engineBack", { id: previous })}
          </Button>
          {back.error && (
            <FaultCard fault={back.error.fault} className="mt-3" fixes={{ retry: () => back.mutate({}) }} />
          )}
        </div>
      )}
      {offers.length + passed.length > 0 && (
        <Fold label={t("settings.engineWhy")} className="px-4 py-3">
          <ul className="flex flex-col gap-1.5 text-sm">
            {offers.map((offer) => (
              <li key={offer.flavour}>
                <span className="font-medium">{offer.flavour}</span>{" "}
                <span className="text-ink-2">{reasonText(t, format, offer.why)}</span>
              </li>
            ))}
            {passed.map((one) => (
              <li key={one.name} className="text-ink-3">
                <span className="font-mono text-xs break-all">{one.name}</span>{" "}
                {reasonText(t, format, one.why)}
              </li>
            ))}
          </ul>
        </Fold>
      )}
      {adding && <AddDialog onClose={() => setAdding(false)} />}
    </Group>
  );
}

/** The newest official release, asked for when a person wants to know. */
function Newest() {
  const { t } = useTranslation();
  const newest = useTell("engines/newest");
  const install = useTell("engines/install");
  const fault = faultOfResult(newest) ?? faultOfResult(install);
  const best = newest.data?.offers[0];
  const tag = newest.data?.tag ?? "";
  return (
    <div className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-2">
        <Button size="sm" look="quiet" busy={newest.isPending} onClick={() => newest.mutate({})}>
          {t("settings.engineLookNewest")}
        </Button>
        {newest.data && (
          <span className="text-sm text-ink-2" role="status">
            {t(newest.data.inUse ? "settings.engineNewestInUse" : "settings.engineNewest", { tag })}
          </span>
        )}
        {newest.data && best && !newest.data.inUse && (
          <Button
            size="sm"
            busy={install.isPending}
            onClick={() => install.mutate({ flavour: best.flavour, newest: true })}
          >
            {t("settings.engineTakeNewest", { flavour: best.flavour, tag })}
          </Button>
        )}
      </div>
      {fault && <FaultCard fault={fault} className="mt-3" fixes={{ retry: () => newest.mutate({}) }} />}
    </div>
  );
}

function EngineRow({
  engine,
  onAdd,
  onInstall,
}: {
  engine: EngineBuild;
  onAdd: () => void;
  onInstall: () => void;
}) {
  const { t } = useTranslation();
  const [removing, setRemoving] = useState(false);
  const use = useTell("engines/use");
  const check = useTell("engines/check");
  const remove = useTell("engines/remove");
  const tell = { onError: ({ fault }: { fault: Fault }) => say(faultTitle(t, fault)) };
  return (
    <div className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="min-w-44 flex-1">
          <p className="flex flex-wrap items-baseline gap-x-2 text-base">
            <span className="font-medium">{engine.id}</span>
            <span className="num text-sm text-ink-2">{engine.version}</span>
            {engine.inUse && (
              <span className="inline-flex items-center gap-1 self-center rounded-full bg-good-soft px-2 text-xs leading-5 text-good-ink">
                <Check size={12} aria-hidden="true" />
                {t("settings.engineInUse")}
              </span>
            )}
          </p>
          <p className="truncate text-sm text-ink-3" title={engine.folder}>
            {engine.backends.join(", ")} ·{" "}
            {engine.origin === "added" ? t("settings.engineAdded") : t("settings.engineRelease")} ·{" "}
            <span className="font-mono text-xs">{engine.folder}</span>
          </p>
        </div>
        {!engine.inUse && !engine.fault && (
          <Button size="sm" onClick={() => use.mutate({ id: engine.id }, tell)}>
            {t("settings.engineUse")}
          </Button>
        )}
        <Button size="sm" busy={check.isPending} onClick={() => check.mutate({ id: engine.id }, tell)}>
          {t("settings.engineCheck")}
        </Button>
        <Menu
          trigger={
            <IconButton label={t("nav.actions", { title: engine.id })} size="sm">
              <MoreHorizontal size={15} />
            </IconButton>
          }
        >
          <MenuItem icon={<Trash2 size={14} />} danger onClick={() => setRemoving(true)}>
            {t("settings.engineRemove")}
          </MenuItem>
        </Menu>
      </div>
      {engine.insteadOf.map((skipped) => (
        <p key={skipped.flavour} className="mt-2 text-sm text-ink-2">
          {t("settings.engineInsteadOf", skipped)}
        </p>
      ))}
      {engine.fault && (
        <FaultCard
          fault={engine.fault}
          className="mt-3"
          fixes={{ addEngine: onAdd, reinstallEngine: onInstall }}
        />
      )}
      {check.data && <CheckResult check={check.data} />}
      <Dialog
        open={removing}
        onClose={() => setRemoving(false)}
        title={t("settings.engineRemoveTitle", { id: engine.id })}
        about={t("settings.engineRemoveAbout")}
        actions={
          <>
            <Button onClick={() => setRemoving(false)}>{t("app.cancel")}</Button>
            <Button
              look="danger"
              busy={remove.isPending}
              onClick={() =>
                remove.mutate({ id: engine.id }, { ...tell, onSuccess: () => setRemoving(false) })
              }
            >
              {t("settings.engineRemove")}
            </Button>
          </>
        }
      />
    </div>
  );
}

function CheckResult({ check }: { check: CheckReply }) {
  const { t } = useTranslation();
  const name = (code: string) => {
    switch (code) {
      case "files":
      case "version":
      case "devices":
      case "abilities":
      case "generation":
      case "speed":
        return t(`settings.checkSteps.${code}`);
      default:
        return code;
    }
  };
  return (
    <div className="mt-3 rounded-md bg-sunken px-3 py-2.5" role="status">
      <p className="text-sm font-medium">
        {check.passed
          ? t("settings.checkPassed", { id: check.engine })
          : t("settings.checkFailed", { id: check.engine })}
      </p>
      <ul className="mt-1.5 flex flex-col gap-1.5 text-sm">
        {check.steps.map((step) => (
          <li key={step.code} className="flex gap-2">
            {step.passed ? (
              <CircleCheck size={15} className="mt-0.5 shrink-0 text-good-ink" aria-hidden="true" />
            ) : (
              <CircleX size={15} className="mt-0.5 shrink-0 text-bad-ink" aria-hidden="true" />
            )}
            <span className="min-w-0">
              {name(step.code)}
              <span className="block font-mono text-xs break-words text-ink-3">{step.detail}</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const add = useTell("engines/add");
  return (
    <PathDialog
      title={t("settings.engineAdd")}
      label={t("settings.engineAddLabel")}
      placeholder={t("settings.engineAddPlaceholder")}
      go={t("settings.engineAddGo")}
      busy={add.isPending}
      fault={faultOfResult(add)}
      onClose={onClose}
      onGo={(path) => add.mutate({ path }, { onSuccess: onClose })}
    />
  );
}
