import { useNavigate } from "@tanstack/react-router";
import { ArrowDownToLine, Plug, Power } from "lucide-react";
import { type ComponentProps, type ReactNode, useEffect } from "react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button } from "@/components/Button";
import { Mark } from "@/components/Mark";
import { Popover } from "@/components/Popover";
import { LoadGauge } from "@/gauge/LoadGauge";
import { mainPool, poolsOf } from "@/gauge/pools";
import { useFormat } from "@/i18n/format";
import { cx } from "@/lib/cx";
import { useAsk, useHost, useTell } from "@/state/ask";
import { isActive, MOVE, routerModels, useLive } from "@/state/live";
import { useModelName } from "@/state/models";
import { useReading } from "@/state/reading";
import type { DeviceUse, Proof } from "@/wire/wire";

/** Always the same few numbers at the same places; each opens what stands behind it. */
export function StatusBar() {
  const { t } = useTranslation();
  const host = useHost();
  useEffect(() => {
    // The sampler sleeps while nobody looks, and a hidden window is nobody.
    const tell = () => {
      host.call("status/watch", { on: !document.hidden }).catch(() => {});
    };
    tell();
    document.addEventListener("visibilitychange", tell);
    return () => {
      document.removeEventListener("visibilitychange", tell);
      host.call("status/watch", { on: false }).catch(() => {});
    };
  }, [host]);

  return (
    <footer
      aria-label={t("bar.label")}
      className="num flex h-8 shrink-0 items-center gap-0.5 overflow-x-auto border-t border-hairline bg-sunken px-1.5 text-xs text-ink-2"
    >
      <ModelItem />
      <ContextItem />
      <span className="flex-1" />
      <OutsideItem />
      <DownloadsItem />
      <CpuItem />
      <MemoryItems />
    </footer>
  );
}

function Item({ className, children, ...rest }: ComponentProps<"button"> & { children: ReactNode }) {
  return (
    <button
      type="button"
      {...rest}
      className={cx(
        "flex h-6 shrink-0 items-center gap-1.5 rounded-sm px-2 whitespace-nowrap transition-colors hover:bg-pressed focus-visible:outline-offset-0 data-popup-open:bg-pressed",
        className,
      )}
    >
      {children}
    </button>
  );
}

function ModelItem() {
  const { t } = useTranslation();
  const format = useFormat();
  const router = useLive((live) => live.router);
  const unload = useTell("router/unload");
  const stop = useTell("router/stop");
  const models = routerModels(router);
  const model = models.find((one) => one.status !== "unloaded") ?? models[0];

  const state = (() => {
    switch (router.state) {
      case "off":
        return t("bar.off");
      case "starting":
        return t("bar.starting");
      case "waiting":
        return t("bar.waiting");
      case "failed":
        return t("bar.failed");
      case "ready":
        if (!model || model.status === "unloaded") return t("bar.noModel");
        if (model.status === "loading") {
          return t("bar.loading", { percent: format.percent(model.progress?.value ?? 0) });
        }
        return model.status === "proving"
          ? t("bar.proving")
          : model.status === "failed"
            ? t("models.state.failed")
            : t("bar.ready");
      default:
        return router satisfies never;
    }
  })();
  const busy = model?.status === "loading" || model?.status === "proving" || router.state === "starting";
  const level = model?.status === "ready" || model?.status === "proving" ? 1 : (model?.progress?.value ?? 0);

  return (
    <Popover
      title={t("bar.engine")}
      trigger={
        <Item>
          <Mark size={16} level={level} className={busy ? "text-ink-2" : "text-ink"} />
          <span className="max-w-40 truncate font-medium text-ink">{model?.name ?? ""}</span>
          <span className={model?.status === "ready" ? "max-sm:sr-only" : undefined}>{state}</span>
        </Item>
      }
    >
      <div className="flex flex-col gap-1 text-sm text-ink-2">
        {router.state === "ready" ? (
          <>
            <p>{router.engine}</p>
            <p>
              {t("bar.process", { pid: router.pid })}, {router.owned ? t("bar.owned") : t("bar.notOwned")}
            </p>
            {model?.proof && <LoadedGauge proof={model.proof} />}
            {models.map((one) => (
              <div key={one.id} className="mt-2 flex items-center gap-2">
                <span className="min-w-0 flex-1 truncate text-ink">
                  {one.name}, {t(`models.state.${one.status}`)}
                </span>
                <Button
                  size="sm"
                  onClick={() => unload.mutate({ model: one.id })}
                  disabled={one.status === "unloaded"}
                >
                  {t("bar.unload")}
                </Button>
              </div>
            ))}
            <Button size="sm" look="quiet" className="mt-1 self-start" onClick={() => stop.mutate({})}>
              <Power size={14} />
              {t("bar.stopEngine")}
            </Button>
          </>
        ) : (
          <p>{state}</p>
        )}
      </div>
    </Popover>
  );
}

/** The hull that carries the loaded model, with what its plan put in. */
function LoadedGauge({ proof }: { proof: Proof }) {
  const machine = useAsk("machine/read", { fresh: false });
  const sample = useLive((live) => live.sample);
  const pool = mainPool(poolsOf(proof.planned, machine.data, sample));
  if (!pool) return null;
  return (
    <div className="my-3">
      <LoadGauge pool={pool} width={76} height={150} labels={178} />
    </div>
  );
}

function ContextItem() {
  const { t } = useTranslation();
  const format = useFormat();
  const reading = useReading();
  const used = reading.used;
  const window = reading.window;
  if (window === undefined) return null;
  const share = used === undefined ? 0 : used / window;
  return (
    <>
      <Popover
        title={t("bar.contextTitle")}
        trigger={
          <Item aria-label={t("bar.contextTitle")}>
            <span className="h-1.5 w-12 overflow-hidden max-sm:w-6 rounded-full bg-pressed ring-1 ring-border/70">
              <span
                className={cx("block h-full rounded-full", share > 0.9 ? "bg-warn" : "bg-(--water-context)")}
                style={{ width: `${Math.min(100, share * 100)}%` }}
              />
            </span>
            {t("bar.context", {
              used: used === undefined ? "–" : format.tokens(used),
              window: format.tokens(window),
            })}
          </Item>
        }
      >
        <p className="text-sm text-ink-2">
          {used === undefined
            ? t("bar.contextNone")
            : t("bar.contextAbout", { used, window, left: Math.max(0, window - used) })}
        </p>
      </Popover>
      {reading.tps !== undefined && (
        <span className="hidden px-2 sm:inline">{t("bar.speed", { value: format.number(reading.tps) })}</span>
      )}
    </>
  );
}

function CpuItem() {
  const { t } = useTranslation();
  const cpu = useLive((live) => (live.sample ? Math.round(live.sample.cpuPercent) : undefined));
  return (
    <Popover
      title={t("bar.cpu")}
      align="end"
      trigger={
        <Item className="hidden sm:flex">
          {t("bar.cpu")} <span className="inline-block w-8 text-right text-ink">{cpu ?? "–"} %</span>
        </Item>
      }
    >
      <p className="text-sm text-ink-2">{cpu === undefined ? t("bar.noSample") : t("bar.cpuAbout")}</p>
      <ToMachine />
    </Popover>
  );
}

function MemoryItems() {
  const { t } = useTranslation();
  const sample = useLive((live) => live.sample);
  if (!sample) return null;
  return (
    <>
      <MemoryItem use={sample.memory} name={t("bar.ram")} short={t("bar.ram")} />
      {sample.devices.map((device) => (
        <MemoryItem key={device.id} use={device} name={device.name} short={shortName(device.name)} />
      ))}
    </>
  );
}

function ToMachine() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  return (
    <Button
      size="sm"
      look="quiet"
      className="mt-2 self-start"
      onClick={() => void navigate({ to: "/machine" })}
    >
      {t("machine.open")}
    </Button>
  );
}

/** "NVIDIA GeForce RTX 4070 Laptop" is "RTX 4070" in a row of numbers. */
function shortName(name: string): string {
  return (
    name
      .match(/\b(?:RTX|GTX|RX|Arc|Radeon|M\d|A\d+|H\d+)\b[^,(]*/)?.[0]
      .split(" ")
      .slice(0, 2)
      .join(" ") ?? name.slice(0, 14)
  );
}

function MemoryItem({ use, name, short }: { use: DeviceUse; name: string; short: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [used, total] = format.pair(use.appBytes + use.othersBytes, use.totalBytes);
  const free = Math.max(0, use.totalBytes - use.appBytes - use.othersBytes);
  const width = (bytes: number) => `${Math.min(100, (bytes / use.totalBytes) * 100)}%`;
  const rows = [
    ...(use.appUnknown ? [] : [{ label: t("bar.app"), bytes: use.appBytes, color: "var(--water-context)" }]),
    {
      label: use.appUnknown ? t("bar.somebody") : t("bar.others"),
      bytes: use.othersBytes,
      color: "var(--water-others)",
    },
    { label: t("bar.free"), bytes: free, color: "var(--hull)" },
  ];
  return (
    <Popover
      title={name}
      align="end"
      trigger={
        <Item aria-label={t("bar.memoryOf", { name, used, total })}>
          <span className="max-sm:hidden">{short}</span>
          <span className="sm:hidden">{use.id === "memory" ? t("bar.ram") : t("bar.device")}</span>
          <span className="flex h-1.5 w-14 max-sm:w-8 overflow-hidden rounded-full bg-hull ring-1 ring-border/70">
            <span style={{ width: width(use.appBytes), background: "var(--water-context)" }} />
            <span style={{ width: width(use.othersBytes), background: "var(--water-others)" }} />
          </span>
          <span className="hidden text-ink sm:inline">{t("bar.usage", { used, total })}</span>
        </Item>
      }
    >
      <dl className="num flex flex-col gap-1 text-sm">
        {rows.map((row) => (
          <div key={row.label} className="flex items-center gap-2">
            <span
              className="h-2.5 w-3 rounded-[3px] ring-1 ring-border/60"
              style={{ background: row.color }}
              aria-hidden="true"
            />
            <dt className="flex-1 text-ink-2">{row.label}</dt>
            <dd className="m-0">{format.bytes(row.bytes)}</dd>
          </div>
        ))}
      </dl>
      <ToMachine />
    </Popover>
  );
}

/** What other programs ask of the endpoint while they do. */
function OutsideItem() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const uses = useLive((live) => live.endpointUses);
  const count = uses.reduce((sum, one) => sum + one.requests, 0);
  if (count === 0) return null;
  return (
    <Popover
      title={t("bar.outside")}
      align="end"
      trigger={
        <Item>
          <Plug size={13} aria-hidden="true" />
          <span>{t("bar.outsideN", { count })}</span>
        </Item>
      }
    >
      <ul className="num flex flex-col gap-1 text-sm">
        {uses.map((one) => (
          <OutsideLine key={one.model} model={one.model} requests={one.requests} />
        ))}
      </ul>
      <Button
        size="sm"
        look="quiet"
        className="mt-2 self-start"
        onClick={() => void navigate({ to: "/settings", search: { section: "endpoint" } })}
      >
        {t("settings.endpoint")}
      </Button>
    </Popover>
  );
}

function OutsideLine({ model, requests }: { model: string; requests: number }) {
  const name = useModelName(model) ?? model;
  return (
    <li className="flex gap-2">
      <span className="min-w-0 flex-1 truncate">{name}</span>
      <span className="text-ink-2">{requests}</span>
    </li>
  );
}

function DownloadsItem() {
  const { t } = useTranslation();
  const format = useFormat();
  const navigate = useNavigate();
  const transfers = useLive((live) => live.transfers);
  const active = Object.values(transfers).filter((one) => isActive(one) && one.id !== MOVE);
  if (active.length === 0) return null;
  const done = active.reduce((sum, one) => sum + one.doneBytes, 0);
  const total = active.reduce((sum, one) => sum + one.totalBytes, 0);
  return (
    <Popover
      title={t("bar.downloads")}
      align="end"
      trigger={
        <Item>
          <ArrowDownToLine size={13} aria-hidden="true" />
          <span>{t("bar.downloadsN", { count: active.length })}</span>
          <span className="text-ink">{format.percent(total === 0 ? 0 : done / total)}</span>
        </Item>
      }
    >
      <div className="flex flex-col gap-3">
        {active.map((one) => (
          <TransferLine
            key={one.id}
            subject={one.subject}
            done={one.doneBytes}
            total={one.totalBytes}
            rate={one.bytesPerS}
          />
        ))}
        <Button size="sm" className="self-start" onClick={() => void navigate({ to: "/models" })}>
          {t("nav.models")}
        </Button>
      </div>
    </Popover>
  );
}

function TransferLine({
  subject,
  done,
  total,
  rate,
}: {
  subject: string;
  done: number;
  total: number;
  rate: number;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const name = useModelName(subject) ?? subject;
  const [part, whole] = format.pair(done, total);
  return (
    <div className="num text-sm">
      <div className="mb-1.5 flex gap-2">
        <span className="min-w-0 flex-1 truncate">{name}</span>
        <span className="text-ink-2">{format.rate(rate)}</span>
      </div>
      <Bar label={name} value={total === 0 ? undefined : done / total} />
      <p className="mt-1 text-xs text-ink-2">{t("models.downloading", { part, whole })}</p>
    </div>
  );
}
