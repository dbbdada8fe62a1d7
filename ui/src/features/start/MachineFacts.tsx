import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { Lines } from "@/features/models/PlanWords";
import { useFormat } from "@/i18n/format";
import { reasonText } from "@/i18n/reasons";
import type { Machine } from "@/wire/wire";

/** The machine in one line: processor, memory, and what can compute. */
export function machineLine(t: TFunction, format: ReturnType<typeof useFormat>, machine: Machine): string {
  const parts = [shortCpu(machine.cpu.name), t("start.ram", { bytes: machine.memory.totalBytes })];
  for (const device of machine.devices) {
    parts.push(
      device.kind === "unified" || device.kind === "integrated"
        ? device.name
        : `${device.name} ${format.bytes(device.totalBytes)}`,
    );
  }
  if (machine.devices.length === 0) parts.push(t("start.lineCpuOnly"));
  return parts.join(" · ");
}

/** Trade marks and clock speeds are not what tells one processor from another. */
function shortCpu(name: string): string {
  return name
    .replace(/\((?:R|TM|C)\)/gi, "")
    .replace(/\bCPU\b|\s+@.*$|\bwith .*$|\b\d+-Core Processor\b/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** Every number about the machine, and which probe or table it comes from. */
export function MachineFacts({ machine }: { machine: Machine }) {
  const { t } = useTranslation();
  const format = useFormat();
  const from = (source: string) => t("start.facts.source", { source });
  const bandwidth = (value: number) =>
    t("start.facts.bandwidthValue", { value: format.number(value / 1e9, 0) });
  const { memory } = machine;
  const free = memory.availableBytes;

  return (
    <div className="flex flex-col gap-4">
      <Lines
        rows={[
          [t("start.facts.os"), `${machine.os.version} (${machine.os.arch})`],
          [
            t("start.facts.cpu"),
            machine.cpu.name,
            t("start.facts.cores", {
              physical: machine.cpu.physicalCores,
              logical: machine.cpu.logicalCores,
            }),
          ],
          [t("start.facts.features"), machine.cpu.features.join(", ") || t("app.unknown")],
          [
            t("start.facts.memory"),
            free === undefined
              ? format.bytes(memory.totalBytes)
              : t("start.facts.memoryValue", {
                  available: format.bytes(free),
                  total: format.bytes(memory.totalBytes),
                }),
            from(memory.source),
          ],
          ...(memory.bandwidthBytesPerS
            ? ([
                [
                  t("start.facts.bandwidth"),
                  bandwidth(memory.bandwidthBytesPerS.value),
                  from(memory.bandwidthBytesPerS.source),
                ],
              ] as const)
            : []),
          ...(machine.class
            ? ([[t("start.facts.class"), t(`start.classes.${machine.class}`)]] as const)
            : []),
        ]}
      />
      {machine.devices.map((device) => (
        <div key={device.id}>
          <h3 className="mb-1 text-sm font-semibold">
            {device.name} <span className="font-normal text-ink-3">{t(`start.kinds.${device.kind}`)}</span>
          </h3>
          <Lines
            rows={[
              [
                t("start.facts.memory"),
                device.freeBytes === undefined
                  ? format.bytes(device.totalBytes)
                  : t("start.facts.deviceValue", {
                      free: format.bytes(device.freeBytes),
                      total: format.bytes(device.totalBytes),
                    }),
                from(device.source),
              ],
              ...(device.bandwidthBytesPerS
                ? ([
                    [
                      t("start.facts.bandwidth"),
                      bandwidth(device.bandwidthBytesPerS.value),
                      from(device.bandwidthBytesPerS.source),
                    ],
                  ] as const)
                : []),
              [t("start.facts.backends"), device.backends.join(", ") || t("app.unknown")],
            ]}
          />
        </div>
      ))}
      {machine.notes.length > 0 && (
        <div>
          <h3 className="mb-1 text-sm font-semibold">{t("start.facts.notes")}</h3>
          <ul className="flex flex-col gap-1 text-base text-ink-2">
            {machine.notes.map((note) => (
              <li key={`${note.code}${JSON.stringify(note.params)}`}>{reasonText(t, format, note)}</li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
