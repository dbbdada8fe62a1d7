import { Dialog } from "@base-ui/react/dialog";
import { Autocomplete } from "@base-ui/react/autocomplete";
import { useNavigate, useParams } from "@tanstack/react-router";
import { ArrowDownToLine, Boxes, Check, Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button } from "@/components/Button";
import { Tip } from "@/components/Tip";
import { say } from "@/components/Toasts";
import { useAcquire } from "@/features/models/acquire";
import { reasonText, unfitReason } from "@/i18n/reasons";
import { LoadGauge } from "@/gauge/LoadGauge";
import { mainPool, poolsOf } from "@/gauge/pools";
import { useFormat } from "@/i18n/format";
import { cx } from "@/lib/cx";
import { faultTitle } from "@/i18n/faults";
import { useAsk, useHost, useTell } from "@/state/ask";
import { isActive, useLive } from "@/state/live";
import { aboutOf, type Choosable, useCloudShelf, useShelves } from "@/state/models";
import { chooseModel, useView } from "@/state/view";

import { FitPill, pagesOf } from "./pills";

interface Shelf {
  value: "disk" | "cloud" | "offered";
  items: Choosable[];
}

/** The search, the list and what the lit model would do. Its list brings a large library along. */
export function PickerBody({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const conversation = useParams({ strict: false }).id ?? "";
  const fallback = useLive((live) => live.defaultModel);
  const selected = useView((view) => view.chosen[conversation]) ?? fallback;
  const { disk, offered } = useShelves();
  const cloud = useCloudShelf();
  const host = useHost();
  const load = useTell("router/load");
  const { acquire, dialog } = useAcquire();
  const [lit, setLit] = useState<string>();
  const seen = [...disk, ...cloud, ...offered].find((model) => model.id === lit);
  const groups: Shelf[] = [
    { value: "disk" as const, items: disk },
    { value: "cloud" as const, items: cloud },
    { value: "offered" as const, items: offered },
  ].filter((group) => group.items.length > 0);

  /** What the other model cannot take of this conversation is told before anything is sent. */
  async function tellLosses(model: string) {
    if (conversation === "") return;
    try {
      const { images, thoughts, calls, leaves } = await host.call("routes/losses", { conversation, model });
      const lost = [
        ...(images > 0 ? [t("picker.lostImages", { n: images })] : []),
        ...(thoughts > 0 ? [t("picker.lostThoughts", { n: thoughts })] : []),
        ...(calls > 0 ? [t("picker.lostCalls", { n: calls })] : []),
        ...(leaves ? [t("picker.leaves")] : []),
      ];
      if (lost.length > 0) say(lost.join(" "));
    } catch {
      // The turn itself says what is wrong.
    }
  }

  function choose(model: Choosable) {
    if (model.cloud) {
      chooseModel(conversation, model.id);
      void tellLosses(model.id);
      close();
    } else if (model.disk) {
      if (model.disk.state !== "ready" || !model.disk.chat) {
        close();
        void navigate({ to: "/models", search: { model: model.id } });
        return;
      }
      chooseModel(conversation, model.id);
      void tellLosses(model.id);
      if (model.loaded?.status !== "ready" && model.loaded?.status !== "loading") {
        load.mutate({ model: model.id, wishes: {} }, { onError: ({ fault }) => say(faultTitle(t, fault)) });
      }
      close();
    } else if (!(model.transfer && isActive(model.transfer))) {
      acquire(model);
    }
  }

  return (
    <>
      <Autocomplete.Root
        open
        inline
        items={groups}
        itemToStringValue={(item: unknown) => {
          const model = item as Choosable;
          return `${model.name} ${model.quant} ${model.entry?.publisher ?? ""}`;
        }}
        autoHighlight="always"
        keepHighlight
        onItemHighlighted={(item: unknown) => setLit((item as Choosable | undefined)?.id)}
      >
        <div className="flex items-center gap-3 border-b border-hairline px-4">
          <Search size={17} className="shrink-0 text-ink-3" aria-hidden="true" />
          <Autocomplete.Input
            aria-label={t("picker.search")}
            placeholder={t("picker.search")}
            className="h-13 w-full bg-transparent text-md outline-hidden"
          />
          <Dialog.Close className="sr-only">{t("app.close")}</Dialog.Close>
        </div>
        <div className="flex min-h-0 flex-1">
          <div className="min-h-0 min-w-0 flex-1 overflow-y-auto overscroll-contain p-2">
            <Autocomplete.Empty>
              <p className="px-3 py-8 text-center text-base text-ink-2 empty:hidden">
                <Autocomplete.Value>
                  {(query) => t("picker.nothing", { query: String(query) })}
                </Autocomplete.Value>
              </p>
            </Autocomplete.Empty>
            <Autocomplete.List>
              {(group: Shelf) => (
                <Autocomplete.Group key={group.value} items={group.items} className="not-first:mt-2">
                  <Autocomplete.GroupLabel className="px-3 pt-1.5 pb-1 text-xs font-medium text-ink-3">
                    {t(
                      group.value === "disk"
                        ? "picker.onDisk"
                        : group.value === "cloud"
                          ? "picker.cloud"
                          : "picker.catalog",
                    )}
                  </Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(model: Choosable) => (
                      <Autocomplete.Item
                        key={model.id}
                        value={model}
                        onClick={() => choose(model)}
                        className="flex min-h-14 flex-wrap items-center gap-x-3 gap-y-1.5 rounded-lg px-3 py-2 outline-hidden select-none data-highlighted:bg-pressed"
                      >
                        <ModelRow model={model} selected={model.id === selected} />
                      </Autocomplete.Item>
                    )}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
          </div>
          <div className="hidden w-72 shrink-0 border-l border-hairline bg-sunken/60 p-5 lg:block">
            {seen && <Preview model={seen} />}
          </div>
        </div>
        <div className="flex items-center gap-2 border-t border-hairline px-4 py-2 text-xs text-ink-3">
          <span className="flex-1 max-sm:invisible">{t("picker.keys")}</span>
          <Button
            size="sm"
            look="quiet"
            onClick={() => {
              close();
              void navigate({ to: "/models" });
            }}
          >
            <Boxes size={14} aria-hidden="true" />
            {t("picker.manage")}
          </Button>
        </div>
      </Autocomplete.Root>
      {dialog}
    </>
  );
}

/** What the highlighted model would do here, as the gauge says it. */
function Preview({ model }: { model: Choosable }) {
  const { t } = useTranslation();
  const machine = useAsk("machine/read", { fresh: false });
  const sample = useLive((live) => live.sample);
  const format = useFormat();
  const pool = model.plan && mainPool(poolsOf(model.plan.memory, machine.data, sample));
  const speed = model.plan?.speed;
  const lines: [string, string][] = [];
  if (speed) {
    const { low, high } = speed.firstTokenS;
    lines.push([
      t("models.answering"),
      t("models.tokensPerS", { range: format.range(speed.decodeTps.low, speed.decodeTps.high) }),
    ]);
    lines.push([t("models.firstWord"), `${format.range(low, high)} s`]);
  }
  if (model.plan) {
    lines.push([t("models.parameters"), format.count(model.plan.model.parameters)]);
    lines.push([t("gauge.contextSize"), t("picker.pages", { pages: pagesOf(model.plan.settings.context) })]);
  }
  if (model.cloud?.context !== undefined) {
    lines.push([t("gauge.contextSize"), t("picker.pages", { pages: pagesOf(model.cloud.context) })]);
  }
  if (model.cloud?.prices) {
    const { input, output, checked } = model.cloud.prices;
    lines.push([t("picker.price"), t("picker.priceValue", { input, output })]);
    lines.push([t("picker.priceOf"), checked]);
  }
  if (model.entry) lines.push([t("models.licence"), model.entry.licence.name]);
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="text-base font-semibold">{model.name}</p>
        <p className="line-clamp-3 text-sm text-ink-2">
          {model.cloud
            ? t(model.cloud.ownServer ? "picker.ownServer" : "picker.atProvider", {
                name: model.cloud.provider,
              })
            : (aboutOf(model.entry, format.language) ?? model.disk?.path)}
        </p>
      </div>
      {pool && <LoadGauge pool={pool} width={68} height={168} labels={160} />}
      {model.plan && (
        <p className="text-sm text-ink-2">
          {model.against ? reasonText(t, format, model.against) : t(`fit.${model.plan.verdict}About`)}
        </p>
      )}
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 border-t border-hairline pt-3 text-sm">
        {lines.map(([name, value]) => (
          <div key={name} className="col-span-2 grid grid-cols-subgrid">
            <dt className="text-ink-3">{name}</dt>
            <dd className="num m-0 text-right">{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function ModelRow({ model, selected }: { model: Choosable; selected: boolean }) {
  const { t } = useTranslation();
  const format = useFormat();
  const why = unfitReason(model.plan);
  const moving = model.transfer && isActive(model.transfer) ? model.transfer : undefined;
  const loading = model.loaded?.status === "loading" ? model.loaded : undefined;
  return (
    <>
      <span className="min-w-0 flex-1 basis-44">
        <span className="flex items-center gap-2">
          <span className={cx("truncate text-base font-medium", why && "text-ink-2")}>{model.name}</span>
          <span className="num shrink-0 text-xs text-ink-3">{model.quant}</span>
          {selected && (
            <Check size={15} className="shrink-0 text-sea-ink" aria-label={t("picker.selected")} />
          )}
        </span>
        <span className="num block truncate text-xs text-ink-3">
          {model.cloud
            ? t(model.cloud.ownServer ? "picker.ownServer" : "picker.atProvider", {
                name: model.cloud.provider,
              })
            : why
              ? reasonText(t, format, why)
              : model.disk?.state === "incomplete" || model.disk?.state === "damaged"
                ? t(`models.state.${model.disk.state}`)
                : model.disk && !model.disk.chat
                  ? t("picker.base")
                  : model.loaded?.status === "ready"
                    ? t("picker.loaded")
                    : model.disk
                      ? format.bytes(model.bytes)
                      : t("picker.toDownload", { bytes: model.bytes })}
        </span>
        {moving && (
          <Bar
            label={t("picker.downloading")}
            value={moving.totalBytes === 0 ? undefined : moving.doneBytes / moving.totalBytes}
            className="mt-1.5 w-40"
          />
        )}
        {loading && (
          <Bar label={t("picker.loadingNow")} value={loading.progress?.value} className="mt-1.5 w-40" />
        )}
      </span>
      <span className="num flex items-center gap-4 text-sm text-ink-2">
        {model.plan && model.plan.verdict !== "tooBig" && (
          <>
            {model.plan.speed && (
              <span className="text-right">
                {t("fit.speed", {
                  range: format.range(model.plan.speed.decodeTps.low, model.plan.speed.decodeTps.high),
                })}
              </span>
            )}
            <Tip
              label={t("fit.contextAbout", {
                n: model.plan.settings.context,
                pages: pagesOf(model.plan.settings.context),
              })}
            >
              <span className="w-10 text-right max-sm:w-auto">
                {format.tokens(model.plan.settings.context)}
                <span className="sr-only">, {t("gauge.contextSize")}</span>
              </span>
            </Tip>
          </>
        )}
        <span className="flex w-22 justify-start">
          {!model.cloud && <FitPill plan={model.plan} against={model.against} />}
        </span>
        <span className="w-4 max-sm:hidden">
          {!model.disk && !model.cloud && !moving && model.plan?.verdict !== "tooBig" && (
            <ArrowDownToLine size={15} className="text-ink-3" aria-label={t("picker.download")} />
          )}
        </span>
      </span>
    </>
  );
}
