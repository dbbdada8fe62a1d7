import type { Machine, MachineDetails } from "@/wire/wire";

import { machine } from "./planning";
import type { World } from "./world";

/** The scripted machine, what a person said about it, and both together. */
export function machineDetails(world: World): MachineDetails {
  return { machine: overridden(world), found: machine(world.where), overrides: world.overrides };
}

/** As the core does it, without its limits. */
export function overridden(world: World): Machine {
  const found = machine(world.where);
  const said = world.overrides;
  const own = (value: number) => ({ value, source: "you" });
  // What is used stays used, however much of the whole a person grants.
  const granted = (total: number, before: number, free = before) => ({
    totalBytes: total,
    source: "you",
    free: Math.max(0, total - (before - free)),
  });
  const ram =
    said.memoryBytes === undefined
      ? undefined
      : granted(said.memoryBytes, found.memory.totalBytes, found.memory.availableBytes);
  return {
    ...found,
    memory: {
      ...found.memory,
      ...(ram ? { totalBytes: ram.totalBytes, availableBytes: ram.free, source: ram.source } : {}),
      ...(said.reserveBytes === undefined ? {} : { reserveBytes: own(said.reserveBytes) }),
      ...(said.bandwidthBytesPerS === undefined ? {} : { bandwidthBytesPerS: own(said.bandwidthBytesPerS) }),
    },
    devices: found.devices.flatMap((device) => {
      const word = said.devices.find((one) => one.id === device.id);
      if (word?.ignored) return [];
      const total = word?.totalBytes;
      const pool = total === undefined ? undefined : granted(total, device.totalBytes, device.freeBytes);
      return {
        ...device,
        ...(pool ? { totalBytes: pool.totalBytes, freeBytes: pool.free, source: pool.source } : {}),
        ...(word?.bandwidthBytesPerS === undefined
          ? {}
          : { bandwidthBytesPerS: own(word.bandwidthBytesPerS) }),
      };
    }),
  };
}
