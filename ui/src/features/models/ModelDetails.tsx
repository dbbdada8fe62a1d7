import { useNavigate } from "@tanstack/react-router";
import { ArrowDownToLine, ArrowLeft, CircleStop, MessageSquare, ShieldCheck, Trash2, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button, IconButton } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { FaultCard } from "@/components/FaultCard";
import { say } from "@/components/Toasts";
import { useFixes } from "@/features/chat/fixes";
import { ContextPill, FitPill, SpeedPill } from "@/features/picker/pills";
import { PlanGauges } from "@/gauge/PlanView";
import { faultTitle } from "@/i18n/faults";
import { useFormat } from "@/i18n/format";
import { reasonText } from "@/i18n/reasons";
import { useAsk, useTell } from "@/state/ask";
import { isActive } from "@/state/live";
import { aboutOf, type Choosable } from "@/state/models";
import { chooseModel } from "@/state/view";
import type { Fault, Plan, PlanWishes, TransferFile } from "@/wire/wire";

import { useAcquire } from "./acquire";
import { keeperName } from "./keepers";
import { Facts, PlanWords, ProofTable } from "./PlanWords";
import { VariantTable } from "./VariantTable";

export function ModelDetails({
  model,
  onSelect,
}: {
  model: Choosable;
  onSelect: (id: string | undefined) => void;
}) {
  const { t, i18n } = useTranslation();
  const machine = useAsk("machine/read", { fresh: false });
  const [shown, setShown] = useState<Plan>();
  const load = useTell("router/load");
  const plan = shown ?? model.plan;

  return (
    <article className="mx-auto max-w-[760px] px-5 py-7 sm:px-7" aria-label={model.name}>
      <div className="flex items-start gap-x-3 gap-y-1 max-lg:flex-col">
        {/* Beside the list it closes a pane; alone it is the way back. */}
        <IconButton
          label={t("models.close")}
          side="bottom"
          className="shrink-0 max-lg:-mt-3 max-lg:-ml-2 lg:order-last lg:-mr-2"
          onClick={() => onSelect(undefined)}
        >
          <ArrowLeft size={17} className="lg:hidden" />
          <X size={17} className="max-lg:hidden" />
        </IconButton>
        <div className="min-w-0 flex-1">
          <h2 className="text-xl font-semibold">
            {model.name} <span className="num text-base font-normal text-ink-3">{model.quant}</span>
          </h2>
          {model.entry && (
            <p className="mt-0.5 text-base text-ink-2">{aboutOf(model.entry, i18n.language)}</p>
          )}
          {model.plan && (
            <div className="mt-3 flex flex-wrap gap-1.5">
              <FitPill plan={plan} against={model.against} />
              {plan && <ContextPill tokens={plan.settings.context} />}
              {plan && <SpeedPill plan={plan} />}
            </div>
          )}
          {model.disk?.keeper && (
            <p className="mt-3 text-sm text-ink-2">
              {t("models.keptBy", { keeper: keeperName(t, model.disk.keeper) })}
            </p>
          )}
          <Actions model={model} />
        </div>
      </div>

      {model.disk?.fault && (
        <Problem fault={model.disk.fault} id={model.id} onOther={() => onSelect(undefined)} />
      )}
      {model.loaded?.fault && (
        <Problem fault={model.loaded.fault} id={model.id} onOther={() => onSelect(undefined)} />
      )}
      {load.error && <Problem fault={load.error.fault} id={model.id} onOther={() => onSelect(undefined)} />}

      <Section id="plan" title={t("models.plan")}>
        {model.plan ? (
          <PlanGauges
            model={model.id}
            plan={model.plan}
            machine={machine.data}
            onPlan={setShown}
            {...(model.disk?.state === "ready"
              ? { onLoad: (wishes: PlanWishes) => load.mutate({ model: model.id, wishes }) }
              : {})}
          />
        ) : (
          <p className="text-base text-ink-2">{t("models.planNone")}</p>
        )}
      </Section>
      {plan && <PlanWords plan={plan} />}
      {model.loaded?.proof && (
        <Section title={t("models.proof")}>
          <ProofTable proof={model.loaded.proof} />
        </Section>
      )}
      {model.entry && (
        <Section title={t("models.variants")}>
          <VariantTable entry={model.entry} current={model.quant} onSelect={onSelect} />
        </Section>
      )}
      <Section title={t("models.facts")}>
        <Facts model={model} />
      </Section>
    </article>
  );
}

export function Section({ id, title, children }: { id?: string; title: string; children: React.ReactNode }) {
  return (
    <section id={id} className="mt-8 scroll-mt-4">
      <h3 className="mb-3 text-base font-semibold">{title}</h3>
      {children}
    </section>
  );
}

function Problem({ fault, id, onOther }: { fault: Fault; id: string; onOther: () => void }) {
  const { t } = useTranslation();
  const load = useTell("router/load");
  const fixes = useFixes({
    model: id,
    retry: () =>
      load.mutate({ model: id, wishes: {} }, { onError: ({ fault: why }) => say(faultTitle(t, why)) }),
  });
  return (
    <FaultCard
      fault={fault}
      className="mt-5"
      fixes={{
        ...fixes,
        chooseOtherModel: onOther,
        freeSpace: onOther,
        chooseSmallerContext: () => document.getElementById("plan")?.scrollIntoView(),
      }}
    />
  );
}

function Actions({ model }: { model: Choosable }) {
  const { t } = useTranslation();
  const format = useFormat();
  const navigate = useNavigate();
  const { acquire, dialog } = useAcquire();
  const [deleting, setDeleting] = useState(false);
  const load = useTell("router/load");
  const unload = useTell("router/unload");
  const stopPull = useTell("models/stopPull");
  const cancelPull = useTell("models/cancelPull");
  const verify = useTell("models/verify");
  const fixes = useFixes({ model: model.id, retry: () => acquire(model) });
  const tell = { onError: ({ fault }: { fault: Fault }) => say(faultTitle(t, fault)) };
  const moving = model.transfer && isActive(model.transfer) ? model.transfer : undefined;
  const stopped = model.transfer && !moving ? model.transfer : undefined;
  const status = model.loaded?.status ?? "unloaded";
  // Beside the buttons that act they stand back; alone they are the buttons.
  const aside = model.disk?.state === "ready" ? "quiet" : "plain";

  function check() {
    verify.mutate(
      { id: model.id },
      {
        ...tell,
        onSuccess: ({ damaged, unpinned }) => {
          if (damaged.length > 0) say(t("models.damaged", { name: model.name, files: damaged.join(", ") }));
          else if (unpinned.length > 0)
            say(t("models.verifiedPartly", { name: model.name, count: unpinned.length }));
          else say(t("models.verified", { name: model.name }));
        },
      },
    );
  }

  if (moving) {
    const [part, whole] = format.pair(moving.doneBytes, moving.totalBytes);
    return (
      <div className="num mt-4 max-w-md">
        <div className="mb-1.5 flex items-center gap-3 text-sm">
          <span className="flex-1">
            {moving.state === "checking" ? t("models.checking") : t("models.downloading", { part, whole })}
          </span>
          <span className="text-ink-2">
            {format.rate(moving.bytesPerS)}
            {moving.secondsLeft !== undefined &&
              ` · ${t("models.left", { time: format.seconds(moving.secondsLeft) })}`}
          </span>
          <Button size="sm" onClick={() => stopPull.mutate({ id: moving.id }, tell)}>
            <CircleStop size={14} aria-hidden="true" />
            {t("models.stop")}
          </Button>
        </div>
        {moving.notes?.map((note) => (
          <p key={JSON.stringify(note)} className="mb-1.5 text-sm text-ink-2">
            {reasonText(t, format, note)}
          </p>
        ))}
        <Bar
          label={t("picker.downloading")}
          value={moving.totalBytes === 0 ? undefined : moving.doneBytes / moving.totalBytes}
        />
        {moving.files && moving.files.length > 1 && <TransferFiles files={moving.files} />}
      </div>
    );
  }

  return (
    <div className="mt-4 flex flex-wrap items-center gap-2">
      {model.disk ? (
        <>
          {model.disk.state === "incomplete" && !stopped && (
            <Button look="primary" onClick={() => acquire(model)}>
              <ArrowDownToLine size={15} aria-hidden="true" />
              {t("models.complete")}
            </Button>
          )}
          {model.disk.state === "ready" && model.disk.chat && (
            <Button
              look="primary"
              onClick={() => {
                chooseModel("", model.id);
                if (status === "unloaded" || status === "failed")
                  load.mutate({ model: model.id, wishes: {} }, tell);
                void navigate({ to: "/" });
              }}
            >
              <MessageSquare size={15} aria-hidden="true" />
              {t("models.use")}
            </Button>
          )}
          {status === "ready" ? (
            <Button onClick={() => unload.mutate({ model: model.id }, tell)}>{t("models.unload")}</Button>
          ) : (
            model.disk.state === "ready" && (
              <Button
                busy={status === "loading" || status === "proving"}
                onClick={() => load.mutate({ model: model.id, wishes: {} }, tell)}
              >
                {status === "loading" || status === "proving"
                  ? t(`models.state.${status}`)
                  : t("models.load")}
              </Button>
            )
          )}
          <Button look={aside} busy={verify.isPending} onClick={check}>
            <ShieldCheck size={15} aria-hidden="true" />
            {verify.isPending ? t("models.verifying") : t("models.verify")}
          </Button>
          {!model.disk.keeper && (
            <Button look={aside} onClick={() => setDeleting(true)}>
              <Trash2 size={15} aria-hidden="true" />
              {t("models.delete")}
            </Button>
          )}
        </>
      ) : (
        <Button look="primary" disabled={model.plan?.verdict === "tooBig"} onClick={() => acquire(model)}>
          <ArrowDownToLine size={15} aria-hidden="true" />
          {stopped ? t("models.resume") : t("models.downloadBytes", { bytes: model.bytes })}
        </Button>
      )}
      {stopped && (
        <span className="num text-sm text-ink-2">
          {(([part, whole]) => t("models.stoppedAt", { part, whole }))(
            format.pair(stopped.doneBytes, stopped.totalBytes),
          )}
        </span>
      )}
      {stopped && (
        <Button
          look="quiet"
          busy={cancelPull.isPending}
          onClick={() =>
            cancelPull.mutate(
              { id: stopped.id },
              {
                ...tell,
                onSuccess: ({ freedBytes }) => say(t("models.deleted", { bytes: format.bytes(freedBytes) })),
              },
            )
          }
        >
          <Trash2 size={15} aria-hidden="true" />
          {t("models.discard")}
        </Button>
      )}
      {stopped?.fault && (
        <FaultCard
          fault={stopped.fault}
          className="w-full"
          fixes={{ ...fixes, downloadAgain: () => acquire(model), acceptLicence: () => acquire(model) }}
        />
      )}
      {dialog}
      {deleting && <DeleteDialog model={model} onClose={() => setDeleting(false)} />}
    </div>
  );
}

/** How far each file of a set is; folded away, since the one bar says what matters. */
function TransferFiles({ files }: { files: readonly TransferFile[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <details className="mt-2 text-sm text-ink-2">
      <summary className="cursor-pointer">{t("models.filesOf", { count: files.length })}</summary>
      <ul className="mt-1 space-y-0.5">
        {files.map((file) => {
          const [part, whole] = format.pair(file.doneBytes, file.totalBytes);
          return (
            <li key={file.name} className="flex gap-3">
              <span className="min-w-0 flex-1 truncate">{file.name}</span>
              <span>{t("models.downloading", { part, whole })}</span>
            </li>
          );
        })}
      </ul>
    </details>
  );
}

function DeleteDialog({ model, onClose }: { model: Choosable; onClose: () => void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const remove = useTell("models/remove");
  // Less than its size where another name shares the bytes.
  const frees = model.disk?.freesBytes ?? model.bytes;
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("models.deleteTitle", { name: `${model.name} ${model.quant}` })}
      about={t(model.entry ? "models.deleteAbout" : "models.deleteAboutOwn", { bytes: frees })}
      actions={
        <>
          <Button onClick={onClose}>{t("app.cancel")}</Button>
          <Button
            look="danger"
            busy={remove.isPending}
            onClick={() =>
              remove.mutate(
                { id: model.id },
                {
                  onSuccess: ({ freedBytes }) => {
                    say(t("models.deleted", { bytes: format.bytes(freedBytes) }));
                    onClose();
                  },
                },
              )
            }
          >
            {t("models.deleteGo", { bytes: frees })}
          </Button>
        </>
      }
    >
      {remove.error && <FaultCard fault={remove.error.fault} fixes={{}} />}
    </Dialog>
  );
}
