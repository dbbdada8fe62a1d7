import { useTranslation } from "react-i18next";

import { useFormat } from "@/i18n/format";
import { useLive } from "@/state/live";
import type { DeviceUse } from "@/wire/wire";

/** Who holds what right now, pool by pool. */
export function Pools() {
  const { t } = useTranslation();
  const sample = useLive((live) => live.sample);
  if (!sample) return <p className="px-4 py-3 text-base text-ink-2">{t("bar.noSample")}</p>;
  return (
    <>
      <Share
        name={t("bar.cpu")}
        about={t("bar.cpuAbout")}
        parts={[{ name: t("machine.busy"), share: sample.cpuPercent / 100, color: "var(--water-others)" }]}
      />
      <Pool use={sample.memory} name={t("bar.ram")} />
      {sample.devices.map((device) => (
        <Pool key={device.id} use={device} name={device.name} />
      ))}
    </>
  );
}

function Pool({ use, name }: { use: DeviceUse; name: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const free = Math.max(0, use.totalBytes - use.appBytes - use.othersBytes);
  const share = (bytes: number) => (use.totalBytes === 0 ? 0 : bytes / use.totalBytes);
  return (
    <Share
      name={name}
      about={format.bytes(use.totalBytes)}
      parts={[
        ...(use.appUnknown
          ? []
          : [
              {
                name: t("bar.app"),
                share: share(use.appBytes),
                value: format.bytes(use.appBytes),
                color: "var(--water-context)",
              },
            ]),
        {
          name: use.appUnknown ? t("bar.somebody") : t("bar.others"),
          share: share(use.othersBytes),
          value: format.bytes(use.othersBytes),
          color: "var(--water-others)",
        },
        { name: t("bar.free"), share: share(free), value: format.bytes(free), color: "var(--hull)" },
      ]}
    />
  );
}

interface Part {
  name: string;
  share: number;
  value?: string;
  color: string;
}

/** A bar that only repeats what the list beneath it says, so a screen reader reads the list. */
function Share({ name, about, parts }: { name: string; about: string; parts: Part[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <section aria-label={t("machine.nowOf", { name })} className="num px-4 py-3">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h3 className="min-w-0 flex-1 text-base font-medium">{name}</h3>
        <p className="text-sm text-ink-2">{about}</p>
      </div>
      <div
        aria-hidden="true"
        className="my-2 flex h-2.5 overflow-hidden rounded-full bg-hull ring-1 ring-border/70"
      >
        {parts.map((part) => (
          <span
            key={part.name}
            style={{ width: `${Math.min(100, part.share * 100)}%`, background: part.color }}
          />
        ))}
      </div>
      <dl className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
        {parts.map((part) => (
          <div key={part.name} className="flex items-center gap-2">
            <span
              className="h-2.5 w-3 rounded-[3px] ring-1 ring-border/60"
              style={{ background: part.color }}
              aria-hidden="true"
            />
            <dt className="text-ink-2">{part.name}</dt>
            <dd className="m-0">{part.value ?? format.percent(part.share)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
