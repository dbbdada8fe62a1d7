import { useNavigate, useSearch } from "@tanstack/react-router";
import { FolderInput, Search } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button } from "@/components/Button";
import { Choice } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { Mark } from "@/components/Mark";
import { PageTitle } from "@/components/PageTitle";
import { FitPill } from "@/features/picker/pills";
import { useFormat } from "@/i18n/format";
import { cx } from "@/lib/cx";
import { faultOfResult } from "@/state/ask";
import { isActive, useLive } from "@/state/live";
import { aboutOf, type Choosable, findModel, useShelves } from "@/state/models";

import { Duplicates } from "./Duplicates";
import { HubRepo } from "./HubRepo";
import { HubSearch } from "./HubSearch";
import { ImportDialog } from "./ImportDialog";
import { keeperName } from "./keepers";
import { ModelDetails } from "./ModelDetails";

/** The library and the catalog, or the hub, on the left; one model or repository on the right. */
export function ModelsPage() {
  const { t } = useTranslation();
  const format = useFormat();
  const navigate = useNavigate();
  const { model: wanted, hub, repo } = useSearch({ from: "/models" });
  const [query, setQuery] = useState("");
  const [importing, setImporting] = useState(false);
  const { disk, offered, coming, library } = useShelves();
  const text = useDeferredValue(query.trim().toLowerCase());
  const matches = (model: Choosable) =>
    text === "" ||
    `${model.name} ${model.entry?.publisher ?? ""} ${aboutOf(model.entry, format.language) ?? ""}`
      .toLowerCase()
      .includes(text);

  const all = [...disk, ...coming, ...offered];
  const transfers = useLive((live) => live.transfers);
  const selected =
    wanted === undefined || hub !== undefined
      ? undefined
      : findModel(wanted, { disk, offered, coming }, library.data, transfers);
  const select = (id: string | undefined) =>
    void navigate({
      to: "/models",
      search: id === undefined ? {} : { model: id },
      replace: wanted !== undefined,
    });
  const toHub = (words: string, of?: string) =>
    void navigate({
      to: "/models",
      search: of === undefined ? { hub: words } : { hub: words, repo: of },
      replace: repo !== undefined,
    });
  const fault = faultOfResult(library);
  const beside = selected !== undefined || (hub !== undefined && repo !== undefined);

  const shelf = (models: Choosable[]) => (
    <ul className="mt-2 flex flex-col gap-0.5">
      {models.map((model) => (
        <li key={model.id}>
          <ModelCard model={model} selected={model.id === selected?.id} onSelect={() => select(model.id)} />
        </li>
      ))}
    </ul>
  );

  return (
    <div className="flex h-full">
      <div
        className={cx(
          "h-full min-w-0 overflow-y-auto border-hairline",
          beside ? "w-[390px] shrink-0 border-r max-lg:hidden" : "flex-1",
        )}
      >
        <div className={cx("mx-auto px-5 py-7", !beside && "max-w-[820px]")}>
          <div className="flex items-center gap-3">
            <PageTitle className="flex-1">{t("models.title")}</PageTitle>
            <Button onClick={() => setImporting(true)}>
              <FolderInput size={15} aria-hidden="true" />
              {t("models.import")}
            </Button>
          </div>
          {library.data && (
            <p className="num mt-1 truncate text-sm text-ink-2" title={library.data.folder}>
              {t("models.used", {
                used: format.bytes(library.data.usedBytes),
                free: format.bytes(library.data.freeBytes),
              })}
            </p>
          )}
          <div className="mt-5">
            <Choice
              label={t("models.views")}
              value={hub === undefined ? "here" : "hub"}
              options={[
                { value: "here", label: t("models.here") },
                { value: "hub", label: t("hub.title") },
              ]}
              onChange={(view) => (view === "hub" ? toHub(query.trim()) : select(undefined))}
            />
          </div>
          {hub === undefined ? (
            <>
              <Duplicates />
              <div className="relative mt-5">
                <Search size={15} className="absolute top-2.75 left-3 text-ink-3" aria-hidden="true" />
                <input
                  type="search"
                  value={query}
                  onChange={(event) => setQuery(event.target.value)}
                  placeholder={t("picker.search")}
                  aria-label={t("picker.search")}
                  className="h-9 w-full rounded-md bg-sunken pr-3 pl-9 text-sm ring-1 ring-hairline outline-hidden focus-visible:ring-2 focus-visible:ring-focus"
                />
              </div>
              {fault && (
                <FaultCard fault={fault} className="mt-5" fixes={{ retry: () => void library.refetch() }} />
              )}

              <h2 className="mt-7 text-base font-semibold">{t("models.library")}</h2>
              {library.data && disk.length + coming.length === 0 ? (
                <div className="mt-3 rounded-lg bg-sunken px-4 py-5 text-base">
                  <p className="font-medium">{t("models.empty")}</p>
                  <p className="text-ink-2">{t("models.emptyAbout")}</p>
                </div>
              ) : (
                shelf([...disk, ...coming].filter(matches))
              )}

              <h2 className="mt-7 text-base font-semibold">{t("models.catalog")}</h2>
              <p className="text-sm text-ink-3">{t("models.catalogAbout")}</p>
              {shelf(offered.filter(matches))}
              {library.data && text !== "" && all.every((model) => !matches(model)) && (
                <div className="flex flex-wrap items-center gap-3 py-6">
                  <p className="text-base text-ink-2">{t("picker.nothing", { query: query.trim() })}</p>
                  <Button onClick={() => toHub(query.trim())}>{t("hub.search")}</Button>
                </div>
              )}
            </>
          ) : (
            <HubSearch
              key={hub}
              words={hub}
              repo={repo}
              onSearch={(words) => toHub(words)}
              onOpen={(of) => toHub(hub, of)}
            />
          )}
        </div>
      </div>
      {selected && (
        <div className="h-full min-w-0 flex-1 overflow-y-auto">
          <ModelDetails key={selected.id} model={selected} onSelect={select} />
        </div>
      )}
      {hub !== undefined && repo !== undefined && (
        <div className="h-full min-w-0 flex-1 overflow-y-auto">
          <HubRepo key={repo} repo={repo} onModel={select} onClose={() => toHub(hub)} />
        </div>
      )}
      {importing && <ImportDialog onClose={() => setImporting(false)} onDone={select} />}
    </div>
  );
}

function ModelCard({
  model,
  selected,
  onSelect,
}: {
  model: Choosable;
  selected: boolean;
  onSelect: () => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const moving = model.transfer && isActive(model.transfer) ? model.transfer : undefined;
  const state = model.disk && model.disk.state !== "ready" ? model.disk.state : model.loaded?.status;
  return (
    <button
      type="button"
      aria-current={selected || undefined}
      onClick={onSelect}
      className={cx(
        "flex w-full items-center gap-3 rounded-lg px-3 py-2.5 text-left transition-colors focus-visible:-outline-offset-2",
        selected ? "bg-sea-soft" : "hover:bg-sunken",
      )}
    >
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">
          <span className="truncate text-base font-medium">{model.name}</span>
          <span className="num shrink-0 text-xs text-ink-3">{model.quant}</span>
          {model.rank === 0 && (
            <span className="shrink-0 text-xs text-sea-ink">{t("models.recommended")}</span>
          )}
        </span>
        <span className="block truncate text-sm text-ink-2">
          {model.disk?.keeper && (
            <span className="mr-1.5 rounded-xs bg-pressed px-1.5 py-0.5 text-xs text-ink-2">
              {keeperName(t, model.disk.keeper)}
            </span>
          )}
          {aboutOf(model.entry, format.language) ?? model.disk?.path}
        </span>
        {moving && (
          <Bar
            label={t("picker.downloading")}
            value={moving.totalBytes === 0 ? undefined : moving.doneBytes / moving.totalBytes}
            className="mt-1.5 max-w-64"
          />
        )}
      </span>
      <span className="num flex shrink-0 flex-col items-end gap-1">
        <FitPill plan={model.plan} against={model.against} />
        <span className="flex items-center gap-1.5 text-xs text-ink-3">
          {state === "ready" && <Mark size={12} level={1} />}
          {state && state !== "unloaded"
            ? t(state === "ready" ? "models.state.loaded" : `models.state.${state}`)
            : moving
              ? format.percent(moving.totalBytes === 0 ? 0 : moving.doneBytes / moving.totalBytes)
              : format.bytes(model.bytes)}
        </span>
      </span>
    </button>
  );
}
