import { RefreshCw, Undo2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Toggle } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { PageTitle } from "@/components/PageTitle";
import { Group, Row } from "@/features/settings/Group";
import { machineLine } from "@/features/start/MachineFacts";
import { useFormat } from "@/i18n/format";
import { reasonText } from "@/i18n/reasons";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import type { Device, Machine, MachineDetails, MachineOverrides } from "@/wire/wire";

import { Figure, type Setting } from "./Figure";
import { isIgnored, saysNothing, type Settable, withIgnored, withNumber } from "./overrides";
import { Pools } from "./Pools";

const GB = 1024 ** 3;
/** Bandwidths count in powers of ten, as data sheets give them. */
const GB_PER_S = 1e9;

/** Everything about this machine: who holds its memory now, every number with its source, and the last word. */
export function MachinePage() {
  const { t } = useTranslation();
  const format = useFormat();
  const details = useAsk("machine/details", { fresh: false, measure: true });
  const again = useTell("machine/details");
  const override = useTell("machine/override");
  const fault = faultOfResult(override) ?? faultOfResult(details) ?? faultOfResult(again);
  const now: MachineDetails | undefined = override.data ?? again.data ?? details.data;
  const say = (overrides: MachineOverrides) => {
    again.reset();
    override.mutate({ overrides });
  };
  const look = () => {
    override.reset();
    again.mutate({ fresh: true, measure: true });
  };

  return (
    <div className="h-full overflow-y-auto">
      <div className="mx-auto flex max-w-[760px] flex-col gap-9 px-5 py-8 pb-16">
        <header>
          <PageTitle>{t("machine.title")}</PageTitle>
          {now && <p className="mt-1 text-base text-ink-2">{machineLine(t, format, now.machine)}</p>}
          <div className="mt-3 flex flex-wrap gap-2">
            <Button size="sm" busy={again.isPending} onClick={look}>
              <RefreshCw size={14} aria-hidden="true" />
              {t("start.facts.again")}
            </Button>
            {now && !saysNothing(now.overrides) && (
              <Button size="sm" look="quiet" onClick={() => say({ devices: [] })}>
                <Undo2 size={14} aria-hidden="true" />
                {t("machine.takeAllBack")}
              </Button>
            )}
          </div>
        </header>
        {fault && <FaultCard fault={fault} fixes={{ retry: look }} />}
        <Group id="now" title={t("machine.now")} about={t("machine.nowAbout")}>
          <Pools />
        </Group>
        {now && (
          <>
            <Ram details={now} onSay={say} />
            {now.found.devices.map((device) => (
              <DeviceGroup key={device.id} found={device} details={now} onSay={say} />
            ))}
            <System machine={now.machine} />
            <Notes machine={now.machine} />
          </>
        )}
      </div>
    </div>
  );
}

interface Part {
  details: MachineDetails;
  onSay: (overrides: MachineOverrides) => void;
}

/** What can be said about one number, and how it is taken back. */
function useSetting({ details, onSay }: Part) {
  const { t } = useTranslation();
  const setting = (which: Settable, now: number | undefined): Setting => {
    const speed = which.what === "bandwidth";
    return {
      unit: speed ? GB_PER_S : GB,
      unitName: speed ? "GB/s" : "GB",
      ...(now === undefined ? {} : { now }),
      about: t(`machine.about.${which.what}`),
      onSet: (value) => onSay(withNumber(details.overrides, which, value)),
      onBack: () => onSay(withNumber(details.overrides, which)),
    };
  };
  return setting;
}

function Ram({ details, onSay }: Part) {
  const { t } = useTranslation();
  const format = useFormat();
  const setting = useSetting({ details, onSay });
  const speed = (value: number) => t("start.facts.bandwidthValue", { value: format.number(value / 1e9, 0) });
  const { memory } = details.machine;
  const found = details.found.memory;
  const bandwidth = memory.bandwidthBytesPerS;
  const reserve = memory.reserveBytes;
  return (
    <Group id="ram" title={t("bar.ram")}>
      <dl className="divide-y divide-hairline">
        <Figure
          name={t("machine.usable")}
          value={
            memory.availableBytes === undefined
              ? format.bytes(memory.totalBytes)
              : t("start.facts.memoryValue", {
                  available: format.bytes(memory.availableBytes),
                  total: format.bytes(memory.totalBytes),
                })
          }
          source={memory.source}
          found={format.bytes(found.totalBytes)}
          setting={setting({ of: "ram", what: "memory" }, memory.totalBytes)}
        />
        <Figure
          name={t("machine.reserve")}
          value={reserve === undefined ? t("machine.byRule") : format.bytes(reserve.value)}
          {...(reserve === undefined ? {} : { source: reserve.source })}
          setting={setting({ of: "ram", what: "reserve" }, reserve?.value)}
        />
        <Figure
          name={t("start.facts.bandwidth")}
          value={bandwidth === undefined ? t("machine.notMeasured") : speed(bandwidth.value)}
          {...(bandwidth === undefined ? {} : { source: bandwidth.source })}
          {...(found.bandwidthBytesPerS ? { found: speed(found.bandwidthBytesPerS.value) } : {})}
          setting={setting({ of: "ram", what: "bandwidth" }, bandwidth?.value)}
        />
      </dl>
    </Group>
  );
}

function DeviceGroup({ found, details, onSay }: Part & { found: Device }) {
  const { t } = useTranslation();
  const format = useFormat();
  const setting = useSetting({ details, onSay });
  const speed = (value: number) => t("start.facts.bandwidthValue", { value: format.number(value / 1e9, 0) });
  const ignored = isIgnored(details.overrides, found.id);
  // An ignored device is not in the machine that is planned for; it is shown as it was found.
  const device = details.machine.devices.find((one) => one.id === found.id) ?? found;
  const bandwidth = device.bandwidthBytesPerS;
  return (
    <Group id={found.id} title={found.name} about={t(`start.kinds.${found.kind}`)}>
      <Row name={t("machine.useDevice")} about={ignored ? t("machine.ignored") : t("machine.used")}>
        <Toggle
          label={t("machine.useDeviceNamed", { name: found.name })}
          checked={!ignored}
          onChange={(use) => onSay(withIgnored(details.overrides, found.id, !use))}
        />
      </Row>
      <dl className="divide-y divide-hairline">
        <Figure
          name={t("machine.usable")}
          value={
            device.freeBytes === undefined
              ? format.bytes(device.totalBytes)
              : t("start.facts.deviceValue", {
                  free: format.bytes(device.freeBytes),
                  total: format.bytes(device.totalBytes),
                })
          }
          source={device.source}
          found={format.bytes(found.totalBytes)}
          setting={setting({ of: found.id, what: "memory" }, device.totalBytes)}
        />
        <Figure
          name={t("start.facts.bandwidth")}
          value={bandwidth === undefined ? t("machine.fromTable") : speed(bandwidth.value)}
          {...(bandwidth === undefined ? {} : { source: bandwidth.source })}
          {...(found.bandwidthBytesPerS ? { found: speed(found.bandwidthBytesPerS.value) } : {})}
          setting={setting({ of: found.id, what: "bandwidth" }, bandwidth?.value)}
        />
        <Figure name={t("start.facts.backends")} value={device.backends.join(", ") || t("app.unknown")} />
      </dl>
    </Group>
  );
}

function System({ machine }: { machine: Machine }) {
  const { t } = useTranslation();
  return (
    <Group id="system" title={t("start.facts.os")}>
      <dl className="divide-y divide-hairline">
        <Figure name={t("start.facts.os")} value={`${machine.os.version} (${machine.os.arch})`} />
        <Figure
          name={t("start.facts.cpu")}
          value={`${machine.cpu.name}, ${t("start.facts.cores", {
            physical: machine.cpu.physicalCores,
            logical: machine.cpu.logicalCores,
          })}`}
        />
        <Figure
          name={t("start.facts.features")}
          value={machine.cpu.features.join(", ") || t("app.unknown")}
        />
        {machine.class && (
          <Figure name={t("start.facts.class")} value={t(`start.classes.${machine.class}`)} />
        )}
      </dl>
    </Group>
  );
}

function Notes({ machine }: { machine: Machine }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (machine.notes.length === 0) return null;
  return (
    <Group id="notes" title={t("start.facts.notes")}>
      <ul className="flex flex-col gap-1.5 px-4 py-3 text-base text-ink-2">
        {machine.notes.map((note) => (
          <li key={`${note.code}${JSON.stringify(note.params)}`}>{reasonText(t, format, note)}</li>
        ))}
      </ul>
    </Group>
  );
}
