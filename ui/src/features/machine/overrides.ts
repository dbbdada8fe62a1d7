import type { DeviceOverride, MachineOverrides } from "@/wire/wire";

/** A number of the machine that a person can set: of the RAM, or of the device with this id. */
export type Settable =
  | { of: "ram"; what: "memory" | "reserve" | "bandwidth" }
  | { of: string; what: "memory" | "bandwidth" };

/** The source of a number that a person set. */
export const BY_PERSON = "you";

const RAM = {
  memory: "memoryBytes",
  reserve: "reserveBytes",
  bandwidth: "bandwidthBytesPerS",
} as const;
const DEVICE = { memory: "totalBytes", bandwidth: "bandwidthBytesPerS" } as const;

/** What was said with one number changed; without a value it is taken back. */
export function withNumber(said: MachineOverrides, which: Settable, value?: number): MachineOverrides {
  if (which.of === "ram") return put(said, RAM[which.what as keyof typeof RAM], value);
  return withDevice(said, which.of, (device) =>
    put(device, DEVICE[which.what as keyof typeof DEVICE], value),
  );
}

export function withIgnored(said: MachineOverrides, id: string, ignored: boolean): MachineOverrides {
  return withDevice(said, id, (device) => ({ ...device, ignored }));
}

export function isIgnored(said: MachineOverrides, id: string): boolean {
  return said.devices.some((device) => device.id === id && device.ignored);
}

export function saysNothing(said: MachineOverrides): boolean {
  return said.devices.length === 0 && Object.keys(said).every((name) => name === "devices");
}

function withDevice(
  said: MachineOverrides,
  id: string,
  change: (device: DeviceOverride) => DeviceOverride,
): MachineOverrides {
  const before = said.devices.find((device) => device.id === id) ?? { id, ignored: false };
  const after = change(before);
  const empty = !after.ignored && after.totalBytes === undefined && after.bandwidthBytesPerS === undefined;
  const others = said.devices.filter((device) => device.id !== id);
  return { ...said, devices: empty ? others : [...others, after] };
}

function put<T extends object>(into: T, name: keyof T, value: number | undefined): T {
  const { [name]: _before, ...rest } = into;
  return (value === undefined ? rest : { ...rest, [name]: value }) as T;
}

/** "1,5" and "1.5" are the same number to a person. Nothing for what is no positive number. */
export function readNumber(text: string): number | undefined {
  const plain = text.trim().replace(",", ".");
  if (!/^\d+(\.\d+)?$/.test(plain)) return undefined;
  return Number(plain);
}
