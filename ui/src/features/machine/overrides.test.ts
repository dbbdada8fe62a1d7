import { expect, it } from "vitest";

import type { MachineOverrides } from "@/wire/wire";

import { isIgnored, readNumber, saysNothing, withIgnored, withNumber } from "./overrides";

const nothing: MachineOverrides = { devices: [] };

it("sets a number and takes it back", () => {
  const set = withNumber(nothing, { of: "ram", what: "memory" }, 8 * 2 ** 30);
  expect(set).toEqual({ memoryBytes: 8 * 2 ** 30, devices: [] });
  expect(withNumber(set, { of: "ram", what: "memory" })).toEqual(nothing);
  const card = withNumber(set, { of: "card", what: "bandwidth" }, 5e11);
  expect(card.devices).toEqual([{ id: "card", ignored: false, bandwidthBytesPerS: 5e11 }]);
  expect(withNumber(card, { of: "card", what: "bandwidth" })).toEqual(set);
});

it("leaves a device alone and takes it in again", () => {
  const alone = withIgnored(nothing, "card", true);
  expect(isIgnored(alone, "card")).toBe(true);
  expect(isIgnored(alone, "other")).toBe(false);
  const used = withIgnored(alone, "card", false);
  expect(saysNothing(used)).toBe(true);
  expect(saysNothing(alone)).toBe(false);
});

it.each([
  ["16", 16],
  [" 1,5 ", 1.5],
  ["0.25", 0.25],
  ["", undefined],
  ["-1", undefined],
  ["1e9", undefined],
  ["16 GB", undefined],
])("reads %j as %s", (text, value) => {
  expect(readNumber(text)).toBe(value);
});
