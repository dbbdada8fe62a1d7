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
  /** What is held stays held; what is free is the rest. */
  const free = (total: number, foundTotal: number, foundFree = 0) =>
    Math.max(0, total - (foundTotal - foundFree));
  return {
    ...found,
    memory: {
      ...found.memory,
      ...(said.memoryBytes === undefined
        ? {}
        : {
            totalBytes: said.memoryBytes,
            availableBytes: free(said.memoryBytes, found.memory.totalBytes, found.memory.availableBytes),
            source: "you",
          }),
      ...(said.reserveBytes === undefined ? {} : { reserveBytes: own(said.reserveBytes) }),
      ...(said.bandwidthBytesPerS === undefined ? {} : { bandwidthBytesPerS: own(said.bandwidthBytesPerS) }),
    },
    devices: found.devices.flatMap((device) => {
      const word = said.devices.find((one) => one.id === device.id);
      if (word?.ignored) return [];
      return {
        ...device,
        ...(word?.totalBytes === undefined
          ? {}
          : {
              totalBytes: word.totalBytes,
              freeBytes: free(word.totalBytes, device.totalBytes, device.freeBytes),
              source: "you",
            }),
        ...(word?.bandwidthBytesPerS === undefined
          ? {}
          : { bandwidthBytesPerS: own(word.bandwidthBytesPerS) }),
      };
    }),
  };
}
