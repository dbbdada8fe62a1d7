import type { TFunction } from "i18next";

import type { Fault, FaultCode, Fix, Param } from "@/wire/wire";

/** Fails to compile the day the core gains a code without a text. */
export const faultText = {
  badRequest: "fault.badRequest",
  unknownCall: "fault.unknownCall",
  notAllowed: "fault.notAllowed",
  notFound: "fault.notFound",
  busy: "fault.busy",
  notGguf: "fault.notGguf",
  ggufCut: "fault.ggufCut",
  ggufTooLarge: "fault.ggufTooLarge",
  ggufBad: "fault.ggufBad",
  modelFileMissing: "fault.modelFileMissing",
  modelNotOurs: "fault.modelNotOurs",
  unknownModel: "fault.unknownModel",
  unknownArchitecture: "fault.unknownArchitecture",
  machineFileBad: "fault.machineFileBad",
  doesNotFit: "fault.doesNotFit",
  contextTooLong: "fault.contextTooLong",
  diskFull: "fault.diskFull",
  readFailed: "fault.readFailed",
  writeFailed: "fault.writeFailed",
  unsafeName: "fault.unsafeName",
  folderUnusable: "fault.folderUnusable",
  libraryGone: "fault.libraryGone",
  hubUnreachable: "fault.hubUnreachable",
  hubRefused: "fault.hubRefused",
  hubNeedsToken: "fault.hubNeedsToken",
  hubNotFound: "fault.hubNotFound",
  hubOffline: "fault.hubOffline",
  hubTooManyRequests: "fault.hubTooManyRequests",
  hubQuota: "fault.hubQuota",
  hubRevisionGone: "fault.hubRevisionGone",
  hubChanged: "fault.hubChanged",
  hubCertificate: "fault.hubCertificate",
  hubProxy: "fault.hubProxy",
  hashMismatch: "fault.hashMismatch",
  transferStalled: "fault.transferStalled",
  licenceNotAccepted: "fault.licenceNotAccepted",
  noEngine: "fault.noEngine",
  engineIncomplete: "fault.engineIncomplete",
  engineCheckFailed: "fault.engineCheckFailed",
  engineUnknownAsset: "fault.engineUnknownAsset",
  portTaken: "fault.portTaken",
  routerFailed: "fault.routerFailed",
  routerGone: "fault.routerGone",
  loadFailed: "fault.loadFailed",
  outOfMemory: "fault.outOfMemory",
  modelCrashed: "fault.modelCrashed",
  illegalInstruction: "fault.illegalInstruction",
  gpuDriver: "fault.gpuDriver",
  gpuUnsupported: "fault.gpuUnsupported",
  deviceLost: "fault.deviceLost",
  engineTooOld: "fault.engineTooOld",
  contextExceeded: "fault.contextExceeded",
  routeUnreachable: "fault.routeUnreachable",
  routeRefused: "fault.routeRefused",
  routeBroken: "fault.routeBroken",
  routeKey: "fault.routeKey",
  routeQuota: "fault.routeQuota",
  routeRate: "fault.routeRate",
  routeOverloaded: "fault.routeOverloaded",
  routeContent: "fault.routeContent",
  routeModel: "fault.routeModel",
  routeCannot: "fault.routeCannot",
  noVision: "fault.noVision",
  conversationBad: "fault.conversationBad",
  storeFailed: "fault.storeFailed",
  storeTooNew: "fault.storeTooNew",
  internal: "fault.internal",
} as const satisfies Record<FaultCode, `fault.${FaultCode}`>;

export const fixText = {
  retry: "fix.retry",
  chooseOtherModel: "fix.chooseOtherModel",
  chooseSmallerContext: "fix.chooseSmallerContext",
  downloadAgain: "fix.downloadAgain",
  freeSpace: "fix.freeSpace",
  addEngine: "fix.addEngine",
  reinstallEngine: "fix.reinstallEngine",
  checkConnection: "fix.checkConnection",
  setToken: "fix.setToken",
  setKey: "fix.setKey",
  acceptLicence: "fix.acceptLicence",
  importFile: "fix.importFile",
  newConversation: "fix.newConversation",
  updateApp: "fix.updateApp",
  reportBug: "fix.reportBug",
} as const satisfies Record<Fix, `fix.${Fix}`>;

export function faultTitle(t: TFunction, fault: Fault): string {
  return t(faultText[fault.code]);
}

/** The second line: what it means, with the numbers that came along. */
export function faultAbout(t: TFunction, fault: Fault): string {
  const { params } = fault;
  const parts: string[] = [];
  if (has(params, "unreachable")) return t("faultWith.unreachable");
  if (has(params, "needed", "free")) parts.push(t("faultWith.needFree", params));
  else if (has(params, "needed", "have")) parts.push(t("faultWith.needHave", params));
  if (has(params, "prompt", "window")) parts.push(t("faultWith.tokens", params));
  if (has(params, "asked", "trained")) parts.push(t("faultWith.trained", params));
  parts.push(t(`faultAbout.${fault.code}`));
  if (has(params, "seconds")) parts.push(t("faultWith.seconds", { value: params["seconds"] }));
  return parts.join(" ");
}

/** Names and numbers that help, under the fold: `file`, `path`, and whatever else the core gave. */
export function faultFacts(fault: Fault): [string, Param][] {
  const said = new Set([
    "needed",
    "free",
    "have",
    "prompt",
    "window",
    "asked",
    "trained",
    "seconds",
    "unreachable",
  ]);
  return Object.entries(fault.params).filter(([name]) => !said.has(name));
}

/** One text for a bug report. */
export function faultReport(fault: Fault, version: string): string {
  const params = Object.entries(fault.params).map(([name, value]) => `${name}: ${value}`);
  return [`Plimsoll ${version}`, `fault: ${fault.code}`, ...params, ...fault.trace].join("\n");
}

function has(params: Fault["params"], ...names: string[]): boolean {
  return names.every((name) => params[name] !== undefined);
}
