// Generated from crates/wire by `cargo x gen`. Do not edit.

export type Param = number | number | string;

export type Reason = { code: string, params: { [key in string]: Param }, };

export type FaultCode = "badRequest" | "unknownCall" | "notAllowed" | "notFound" | "busy" | "notGguf" | "ggufCut" | "ggufTooLarge" | "ggufBad" | "modelFileMissing" | "modelNotOurs" | "unknownModel" | "unknownArchitecture" | "machineFileBad" | "doesNotFit" | "contextTooLong" | "diskFull" | "readFailed" | "writeFailed" | "unsafeName" | "folderUnusable" | "libraryGone" | "hubUnreachable" | "hubRefused" | "hubNeedsToken" | "hubNotFound" | "hubOffline" | "hubTooManyRequests" | "hubQuota" | "hubRevisionGone" | "hubChanged" | "hubCertificate" | "hubProxy" | "hashMismatch" | "transferStalled" | "licenceNotAccepted" | "noEngine" | "engineIncomplete" | "engineCheckFailed" | "engineUnknownAsset" | "portTaken" | "routerFailed" | "routerGone" | "loadFailed" | "outOfMemory" | "modelCrashed" | "illegalInstruction" | "gpuDriver" | "gpuUnsupported" | "deviceLost" | "engineTooOld" | "contextExceeded" | "routeUnreachable" | "routeRefused" | "routeBroken" | "routeKey" | "routeQuota" | "routeRate" | "routeOverloaded" | "routeContent" | "routeModel" | "routeCannot" | "noVision" | "conversationBad" | "storeFailed" | "storeTooNew" | "internal";

export type Fix = "retry" | "chooseOtherModel" | "chooseSmallerContext" | "downloadAgain" | "freeSpace" | "addEngine" | "reinstallEngine" | "checkConnection" | "setToken" | "setKey" | "acceptLicence" | "importFile" | "newConversation" | "updateApp" | "reportBug";

export type Fault = { code: FaultCode, params: { [key in string]: Param }, trace: Array<string>, fixes: Array<Fix>, };

export type Sourced = { value: number, source: string, };

export type Os = { 
/**
 * `linux`, `macos` or `windows`.
 */
name: string, version: string, 
/**
 * `x86_64` or `aarch64`.
 */
arch: string, };

export type Cpu = { name: string, physicalCores: number, logicalCores: number, features: Array<string>, };

export type Memory = { totalBytes: number, 
/**
 * What a new program could use now. Missing in a file: taken as the total.
 */
availableBytes?: number, bandwidthBytesPerS?: Sourced, 
/**
 * What a plan leaves to the system and to others. Missing: the planner's own rule.
 */
reserveBytes?: Sourced, source: string, };

export type DeviceKind = "discrete" | "integrated" | "unified" | "remote";

export type Device = { id: string, name: string, vendor: string, kind: DeviceKind, 
/**
 * llama.cpp backends that can drive it: `cuda`, `rocm`, `vulkan`, `metal`, `sycl`, `rpc`.
 */
backends: Array<string>, totalBytes: number, 
/**
 * Missing in a file: taken as the total.
 */
freeBytes?: number, 
/**
 * How much of the total is the device's own and no part of the RAM. Missing: all of a discrete device,
 * nothing of a unified or integrated one.
 */
dedicatedBytes?: number, bandwidthBytesPerS?: Sourced, 
/**
 * What programs for it are compiled for: `8.6`, its compute capability, of NVIDIA's, `gfx1100` of AMD's.
 */
architecture?: string, 
/**
 * Of NVIDIA's driver, such as `580.95.05`.
 */
driverVersion?: string, 
/**
 * The newest CUDA that the driver runs, such as `13.0`.
 */
cudaVersion?: string, source: string, };

export type Class = "discrete" | "unified" | "cpuOnly";

export type Machine = { 
/**
 * Version of this shape; 1.
 */
schema: number, os: Os, cpu: Cpu, memory: Memory, devices: Array<Device>, 
/**
 * Derived from the devices when left out.
 */
class?: Class, notes: Array<Reason>, };

export type DeviceOverride = { 
/**
 * Of a device of the machine, or of one that is not there now.
 */
id: string, 
/**
 * No plan is made for it.
 */
ignored: boolean, totalBytes?: number, bandwidthBytesPerS?: number, };

export type MachineOverrides = { 
/**
 * How much RAM may be used at all.
 */
memoryBytes?: number, 
/**
 * How much RAM a plan leaves to the system and to others.
 */
reserveBytes?: number, 
/**
 * How fast the RAM is read.
 */
bandwidthBytesPerS?: number, devices: Array<DeviceOverride>, };

export type MachineDetails = { machine: Machine, 
/**
 * Without the person's changes.
 */
found: Machine, overrides: MachineOverrides, };

export type PlanWishes = { 
/**
 * `balanced` (default), `longestContext` or `fastest`: what matters most where not everything can be had.
 */
goal?: string, context?: number, slots?: number, 
/**
 * Several slots where they cost nothing that the goal is about. Of no effect beside `slots`.
 */
chooseSlots?: boolean, 
/**
 * `f16`, `q8_0` or `q4_0`.
 */
kv?: string, batch?: number, ubatch?: number, cacheRamMib?: number, 
/**
 * `server` (default) or `bench`: how many rows of logits are kept.
 */
outputs?: string, gpuLayers?: number, tensorSplit?: Array<number>, hostExperts?: number, projector?: string, 
/**
 * Guesses ahead: `own` for layers that the model's file brings, or another model by any of its names.
 */
draft?: string, promptTokens?: number, };

export type Anchor = { 
/**
 * A GGUF path, or an id as `plan/make` takes it.
 */
model: string, decodeTps?: number, prefillTps?: number, };

export type PlanModel = { 
/**
 * Catalog id, or the path that was given.
 */
id: string, quant: string, architecture: string, parameters: number, activeParameters: number, fileBytes: number, contextTrained: number, 
/**
 * Layers of its own that guess ahead when they are asked to.
 */
draftingLayers: number, };

export type PlanSettings = { context: number, slots: number, kvTypeK: string, kvTypeV: string, batch: number, ubatch: number, cacheRamMib: number, flashAttention: boolean, gpuLayers: number, tensorSplit: Array<number>, hostExpertLayers: number, 
/**
 * For llama-server, without model, host, port and key.
 */
arguments: Array<string>, };

export type Verdict = "fits" | "spills" | "tooBig";

export type OverheadPart = { 
/**
 * `repack`, `draft`, `promptCache`, `checkpoints`, `outputs`, `backend`, `process`.
 */
code: string, bytes: number, };

export type MemoryNeed = { weightsBytes: number, contextBytes: number, computeBytes: number, projectorBytes: number, overheadBytes: number, 
/**
 * What `overhead` is made of.
 */
overheadParts: Array<OverheadPart>, totalBytes: number, 
/**
 * What may be used here: the line on the hull.
 */
budgetBytes: number, };

export type DeviceMemory = { id: string, weightsBytes: number, contextBytes: number, computeBytes: number, projectorBytes: number, overheadBytes: number, 
/**
 * What `overhead` is made of.
 */
overheadParts: Array<OverheadPart>, totalBytes: number, 
/**
 * What may be used here: the line on the hull.
 */
budgetBytes: number, };

export type PlanMemory = { devices: Array<DeviceMemory>, host: MemoryNeed, 
/**
 * Everything together, at the least and at the most.
 */
lowBytes: number, highBytes: number, };

export type Range = { low: number, mid: number, high: number, };

export type FirstToken = { promptTokens: number, low: number, mid: number, high: number, };

export type Turn = { promptTokens: number, answerTokens: number, low: number, mid: number, high: number, };

export type SpeedBasis = "table" | "measured";

export type PlanSpeed = { 
/**
 * Tokens per second while answering.
 */
decodeTps: Range, 
/**
 * Tokens per second while reading the prompt.
 */
prefillTps: Range, firstTokenS: FirstToken, 
/**
 * The same prompt, answered at the usual length.
 */
turnS?: Turn, basis: SpeedBasis, };

export type Plan = { model: PlanModel, settings: PlanSettings, verdict: Verdict, why: Array<Reason>, memory: PlanMemory, 
/**
 * Missing when no bandwidth is known for a part that the model would use.
 */
speed?: PlanSpeed, };

export type Pick = { model: string, quant: string, name: string, 
/**
 * Of all files, to download.
 */
downloadBytes: number, onDisk: boolean, plan: Plan, };

export type Alternative = { why: Array<Reason>, model: string, quant: string, name: string, 
/**
 * Of all files, to download.
 */
downloadBytes: number, onDisk: boolean, plan: Plan, };

export type Rejected = { model: string, quant: string, name: string, code: string, params: { [key in string]: Param }, };

export type Recommendation = { 
/**
 * Missing when nothing fits: `why` says so.
 */
pick?: Pick, why: Array<Reason>, alternatives: Array<Alternative>, rejected: Array<Rejected>, };

export type Licence = { name: string, url: string, 
/**
 * The person has to agree before the download.
 */
consent: boolean, accepted: boolean, };

export type VariantState = "absent" | "partial" | "onDisk";

export type Variant = { quant: string, bytes: number, 
/**
 * Size or hash were not confirmed: the hub's own count, and a difference is told.
 */
unverified?: boolean, state: VariantState, plan?: Plan, };

export type ModelEntry = { id: string, name: string, about: string, 
/**
 * The same in other languages, by their two letters.
 */
aboutIn: { [key in string]: string }, publisher: string, licence: Licence, parameters: number, activeParameters: number, contextTrained: number, 
/**
 * `chat`, `tools`, `vision`, `reasoning`, `code`, `base`.
 */
abilities: Array<string>, 
/**
 * Our own rank, 0 to 100, comparable within the catalog, and what it rests on.
 */
rank: number, rankReason: string, 
/**
 * Names of facts that nobody confirmed: `parameters`, `contextTrained`, `shape`, …
 */
unverified?: Array<string>, variants: Array<Variant>, };

export type LibraryState = "ready" | "incomplete" | "damaged";

export type Keeper = "lmStudio" | "ollama" | "llamaCpp" | "jan" | "gpt4All" | "folder";

export type LibraryModel = { 
/**
 * `catalog-id:QUANT`, else `ORG/REPO/FILE`, or `KEEPER:PATH` for what another program keeps.
 */
id: string, name: string, quant: string, architecture: string, 
/**
 * Who keeps it; missing for the library. What others keep is used in place and never changed.
 */
keeper?: Keeper, bytes: number, 
/**
 * What deleting it would give back: less where other names share its bytes, nothing for what others keep.
 */
freesBytes: number, path: string, 
/**
 * Names of the parts that are not there.
 */
missing?: Array<string>, state: LibraryState, 
/**
 * The licence's name when the catalog knows it.
 */
licence?: string, 
/**
 * A base model answers in nonsense: not offered for chat by itself.
 */
chat: boolean, 
/**
 * For this machine, with the settings that would be used. Missing when the file cannot be planned.
 */
plan?: Plan, fault?: Fault, };

export type Library = { models: Array<LibraryModel>, catalog: Array<ModelEntry>, 
/**
 * The folder the library lives in.
 */
folder: string, 
/**
 * By the library, without what other programs keep.
 */
usedBytes: number, freeBytes: number, };

export type CatalogReply = { serial: number, 
/**
 * `YYYY-MM-DD`.
 */
issued: string, models: number, modelsInUse: number, 
/**
 * Entries that this version cannot read.
 */
leftOut: Array<string>, 
/**
 * It is newer than what was there, and is used from the next start on.
 */
newer: boolean, };

export type OtherFolder = { keeper: Keeper, path: string, models: number, bytes: number, 
/**
 * It was named here, so it can be taken away here.
 */
named: boolean, 
/**
 * What was passed over, each with its `path`.
 */
problems?: Array<Reason>, };

export type Folders = { 
/**
 * The library's own.
 */
library: string, usedBytes: number, freeBytes: number, 
/**
 * It was chosen here and is not there now: a disk that was taken out, as a rule.
 */
missing?: boolean, 
/**
 * Where the library is being moved to, also while that stands still.
 */
movingTo?: string, 
/**
 * Places of others that hold something, and every folder that was named.
 */
others: Array<OtherFolder>, };

export type DuplicateCopy = { 
/**
 * The model it belongs to.
 */
model: string, path: string, keeper?: Keeper, };

export type Duplicate = { sha256: string, 
/**
 * Of one copy.
 */
bytes: number, savableBytes: number, copies: Array<DuplicateCopy>, };

export type Comparing = { doneBytes: number, totalBytes: number, };

export type Duplicates = { 
/**
 * The largest saving first.
 */
same: Array<Duplicate>, savableBytes: number, 
/**
 * Files of equal size that nobody has compared yet.
 */
openFiles: number, openBytes: number, 
/**
 * How far comparing them is, while it runs.
 */
comparing?: Comparing, };

export type HubGate = "open" | "automatic" | "manual";

export type HubRepo = { 
/**
 * `ORG/NAME`.
 */
id: string, 
/**
 * Of the last thirty days.
 */
downloads: number, likes: number, gate: HubGate, 
/**
 * As the hub's tag says it: `apache-2.0`.
 */
licence?: string, 
/**
 * `YYYY-MM-DD`.
 */
changed?: string, 
/**
 * As far as file names say them.
 */
quants: Array<string>, };

export type HubSearch = { 
/**
 * The most fetched first.
 */
repos: Array<HubRepo>, 
/**
 * There are more; other words find them.
 */
more: boolean, };

export type HubFit = { plan?: Plan, 
/**
 * The same with its projector loaded.
 */
withProjector?: Plan, 
/**
 * Why there is no plan.
 */
fault?: Fault, 
/**
 * What reading the header took.
 */
fetchedBytes: number, };

export type HubVariant = { 
/**
 * What `models/pull` takes, and the model's id once it is here: `ORG/NAME/PATH`, or the catalog's own id.
 */
id: string, 
/**
 * As the file's name says it; empty when it does not.
 */
quant: string, 
/**
 * Of the first part, inside the repository.
 */
path: string, files: number, 
/**
 * Of all parts.
 */
bytes: number, 
/**
 * Of the projector that goes with it.
 */
projectorBytes?: number, 
/**
 * Names of parts that the repository should have and has not: it cannot be used.
 */
missing?: Array<string>, state: VariantState, 
/**
 * Read from the file's own header; only where that was asked for.
 */
fit?: HubFit, };

export type HubVariants = { repo: string, commit: string, 
/**
 * Its page.
 */
url: string, gate: HubGate, licence?: string, 
/**
 * The smallest first.
 */
variants: Array<HubVariant>, };

export type PullLine = { "type": "moved", doneBytes: number, totalBytes: number, bytesPerS: number, } | { "type": "done", model: LibraryModel, };

export type VerifyReply = { id: string, 
/**
 * Names of the files whose bytes are not what they should be; empty when all is right.
 */
damaged: Array<string>, 
/**
 * Files without a known hash: only their size and header were checked.
 */
unpinned: Array<string>, };

export type EngineBuild = { id: string, 
/**
 * What the binary says of itself.
 */
version: string, 
/**
 * `cpu`, `vulkan`, `cuda`, … as the libraries beside it say.
 */
backends: Array<string>, folder: string, inUse: boolean, 
/**
 * `added` (the user's own) or `release` (downloaded by us).
 */
origin: string, 
/**
 * Better ones that were tried before it.
 */
insteadOf: Array<SkippedEngine>, fault?: Fault, };

export type EngineList = { engines: Array<EngineBuild>, 
/**
 * The engine that was in use before, which one step brings back.
 */
previous?: string, 
/**
 * Flavours that `engine install` could fetch for this machine, best first.
 */
available: Array<string>, 
/**
 * The same, each with why it is offered.
 */
offers: Array<EngineOffer>, 
/**
 * Builds for this system that are not offered, and why.
 */
passed: Array<EnginePassed>, };

export type EngineOffer = { 
/**
 * `cuda-13.4`, `vulkan`, `cpu`, …
 */
flavour: string, why: Reason, 
/**
 * To be fetched.
 */
bytes: number, };

export type EnginePassed = { 
/**
 * The name of the file.
 */
name: string, why: Reason, };

export type NewestEngines = { tag: string, 
/**
 * A build of this release is in use already.
 */
inUse: boolean, offers: Array<EngineOffer>, passed: Array<EnginePassed>, };

export type SkippedEngine = { flavour: string, 
/**
 * In the engine's words.
 */
problem: string, };

export type CheckStep = { 
/**
 * `files`, `version`, `devices`, `abilities`.
 */
code: string, passed: boolean, 
/**
 * What the engine printed, shortened.
 */
detail: string, };

export type Check = { engine: string, steps: Array<CheckStep>, passed: boolean, };

export type LoadStage = { 
/**
 * llama-server's own name: `text_model`, `mmproj_model`, `spec_model`.
 */
stage: string, 
/**
 * 0 to 1.
 */
value: number, };

export type ModelStatus = "unloaded" | "loading" | "proving" | "ready" | "failed";

export type ProofPart = { code: string, plannedBytes: number, 
/**
 * From the engine's own log, where it prints this part.
 */
reportedBytes?: number, };

export type ProofPool = { name: string, 
/**
 * The machine's device; missing for the host.
 */
device?: string, weightsBytes: number, contextBytes: number, computeBytes: number, 
/**
 * What the plan has for this device, all three kinds together.
 */
plannedBytes?: number, };

export type ProofLayers = { onDevices: number, all: number, planned: number, };

export type Proof = { planned: PlanMemory, plannedBytes: number, 
/**
 * Resident memory of the child that holds the model.
 */
residentBytes: number, 
/**
 * Every part of the plan by name: llama.cpp's three kinds, then what they do not hold.
 */
parts: Array<ProofPart>, firstTokenMs: number, decodeTps: number, plannedTps?: Range, 
/**
 * What the engine says it holds in each pool, by its own names; the host's pools come first.
 */
pools: Array<ProofPool>, 
/**
 * Layers on devices of all, the output counted as one, where the engine says so.
 */
layers?: ProofLayers, 
/**
 * What differs from the plan by more than 5 %, or runs elsewhere than planned, and what helps.
 */
findings: Array<Reason>, };

export type BenchReply = { model: string, engine: string, promptTokens: number, answerTokens: number, runs: number, prefillTps: number, decodeTps: number, 
/**
 * As predicted before, for a prompt of this length.
 */
plannedPrefillTps?: Range, plannedDecodeTps?: Range, };

export type LoadedModel = { id: string, name: string, status: ModelStatus, 
/**
 * While loading.
 */
progress?: LoadStage, 
/**
 * Tokens in one slot's window, once known.
 */
context?: number, proof?: Proof, fault?: Fault, };

export type Router = { "state": "off" } | { "state": "starting" } | { "state": "ready", engine: string, pid: number, models: Array<LoadedModel>, 
/**
 * This process owns it; else another process of ours does.
 */
owned: boolean, } | { "state": "waiting", crashes: number, fault: Fault, } | { "state": "failed", fault: Fault, };

export type Served = { 
/**
 * Base URL for other apps: ends in `/v1`.
 */
url: string, key: string, 
/**
 * Of the router.
 */
pid: number, };

export type ToolSettings = { on: boolean, 
/**
 * Where files may be read and written. None: no file tools.
 */
folders: Array<string>, 
/**
 * Tools whose calls are done in this conversation without asking.
 */
allowed: Array<string>, };

export type ToolOutcome = { text: string, failed: boolean, };

export type ToolUse = { id: string, name: string, 
/**
 * JSON as the model wrote it.
 */
arguments: string, 
/**
 * Missing while it is being done, or when the answer was interrupted.
 */
result?: ToolOutcome, };

export type ToolEffect = { "kind": "nothing" } | { "kind": "reads", path: string, } | { "kind": "writes", path: string, 
/**
 * Missing for a new file.
 */
before?: string, after: string, } | { "kind": "fetches", url: string, };

export type ToolAnswer = "no" | "once" | "tool" | "conversation";

export type Role = "user" | "assistant";

export type ChatEnd = "complete" | "length" | "stopped" | "failed" | "interrupted";

export type CostBy = "provider" | "prices";

export type Cost = { dollars: number, by: CostBy, };

export type TurnStats = { 
/**
 * `local` or a provider's name.
 */
route: string, model: string, promptTokens?: number, cachedTokens?: number, 
/**
 * Of the prompt, what was written to a cache.
 */
cacheWriteTokens?: number, 
/**
 * With the thoughts.
 */
completionTokens?: number, 
/**
 * Of the answer, what was thought.
 */
reasoningTokens?: number, 
/**
 * Of all calls of the model for this answer, in US dollars. Missing is unknown, never free.
 */
cost?: Cost, 
/**
 * From sending to the first piece of text.
 */
firstTokenMs?: number, decodeTps?: number, 
/**
 * Tokens that fit into this conversation's window.
 */
window?: number, 
/**
 * Tools for which the window has no room.
 */
toolsLeftOut?: Array<string>, };

export type Branch = { 
/**
 * From 1.
 */
place: number, of: number, 
/**
 * The message before it, for `conversations/show`.
 */
before?: string, after?: string, };

export type ThinkingWish = "off" | "low" | "medium" | "high";

export type ChatSettings = { 
/**
 * Told to the model before everything else.
 */
instructions?: string, 
/**
 * From 0 to 2.
 */
temperature?: number, 
/**
 * From 0 to 1.
 */
topP?: number, topK?: number, 
/**
 * From 0 to 1.
 */
minP?: number, seed?: number, 
/**
 * The most tokens of an answer.
 */
replyMax?: number, thinking?: ThinkingWish, };

export type ChatSetting = "temperature" | "topP" | "topK" | "minP" | "seed" | "replyMax";

export type ThinkingChoice = "none" | "switch" | "effort";

export type ChatSettingsReply = { 
/**
 * Of the conversation alone.
 */
own: ChatSettings, 
/**
 * What the person chose for every conversation with this model.
 */
model: ChatSettings, 
/**
 * What the model's publisher advises.
 */
advice: ChatSettings, 
/**
 * What the route takes; the rest is not sent.
 */
takes: Array<ChatSetting>, thinking: ThinkingChoice, };

export type Message = { id: string, 
/**
 * The message it follows.
 */
parent?: string, 
/**
 * Missing where it stands alone.
 */
branch?: Branch, role: Role, text: string, 
/**
 * What a reasoning model thought, folded by default.
 */
reasoning: string, 
/**
 * What it did on the way to the answer.
 */
tools?: Array<ToolUse>, createdAt: number, stats?: TurnStats, 
/**
 * How the answer ended; missing on a user's message and while it is being written.
 */
end?: ChatEnd, fault?: Fault, };

export type ConversationSummary = { id: string, 
/**
 * Empty until the first message gives it one.
 */
title: string, createdAt: number, updatedAt: number, model?: string, 
/**
 * In the trash since; can be restored.
 */
deletedAt?: number, };

export type Snip = { text: string, 
/**
 * One of the words that were looked for.
 */
hit: boolean, };

export type FoundConversation = { conversation: ConversationSummary, inTitle: boolean, 
/**
 * Messages that hold every word.
 */
hits: number, 
/**
 * The newest of them.
 */
message?: string, 
/**
 * What stands around the words there.
 */
snippet: Array<Snip>, };

export type FoundConversations = { found: Array<FoundConversation>, 
/**
 * There are others that are not listed.
 */
more: boolean, };

export type MarkdownWords = { you: string, answer: string, thought: string, tool: string, };

export type Exported = { 
/**
 * A file name for it.
 */
name: string, 
/**
 * Missing where it was saved.
 */
text?: string, 
/**
 * Where it was saved.
 */
path?: string, };

export type Emptied = { conversations: number, };

export type Conversation = { messages: Array<Message>, tools: ToolSettings, settings: ChatSettings, 
/**
 * The turn that is running now, if any: its id is also the id of the answer it writes.
 */
running?: string, id: string, 
/**
 * Empty until the first message gives it one.
 */
title: string, createdAt: number, updatedAt: number, model?: string, 
/**
 * In the trash since; can be restored.
 */
deletedAt?: number, };

export type Answered = { machine: Machine, plan: Plan, question: string, answer: string, end: ChatEnd, stats?: TurnStats, 
/**
 * Planned beside measured memory, with every part by its name.
 */
proof?: Proof, fault?: Fault, };

export type ReadingKind = "exact" | "real" | "rejected" | "anchored" | "rough" | "unknown";

export type ContextReading = { kind: ReadingKind, tokens?: number, 
/**
 * Half the width of nine of ten cases.
 */
error?: number, 
/**
 * The median by the errors seen on this route: decides about compacting.
 */
typical?: number, 
/**
 * At most this in nineteen of twenty cases: decides whether it fits.
 */
high?: number, 
/**
 * Seconds since a server counted something of it.
 */
ageS?: number, };

export type GateMoment = "beforeTurn" | "beforeCall" | "afterTools" | "idle" | "display";

export type CompactionMode = "automatic" | "manual" | "off";

export type GateVerdict = "send" | "wait" | "count" | "compact" | "suggest" | "warn" | "refuse";

export type GateReason = "underThreshold" | "overThreshold" | "noRoomForReply" | "roughWaits" | "waited" | "usageOmitted" | "lastRealOver" | "overflow" | "afterOverflow" | "stillTooLong" | "quietAfterCompaction" | "blocked" | "probe" | "nothingToCut" | "recentlyFailed" | "summaryPending" | "idleEnough" | "idleTooLittleNew" | "nearThreshold" | "manual" | "off" | "offWarned" | "messageTooLarge" | "windowUnknown" | "nothingKnown";

export type GateDecision = { moment: GateMoment, verdict: GateVerdict, reason: GateReason, reading: ContextReading, window?: number, threshold?: number, 
/**
 * The row that cannot be sent.
 */
row?: string, };

export type CompactionOutcome = "committed" | "noOp" | "discardedStale" | "rejectedLarger" | "timedOut" | "cancelled" | "providerError" | "busy";

export type ReplayThoughts = "never" | "inTurn" | "always";

export type ReplayPart = { bytes: number, 
/**
 * Of the bytes; any name that is the same for the same bytes. Missing: one that follows from their number.
 */
digest?: string, };

export type ReplayTool = { name: string, tokens: number, };

export type ReplayRowKind = "user" | "answer" | "results" | "summary";

export type ReplayResult = { call: string, bytes: number, 
/**
 * Missing: the call's id.
 */
digest?: string, };

export type ReplayRow = { id: string, kind: ReplayRowKind, 
/**
 * Of the text that reaches the wire, with calls and results, without images.
 */
bytes?: number, 
/**
 * Of thoughts that go back.
 */
thoughtBytes?: number, 
/**
 * Of what is sent unread: seals and the like. They cost nothing by their length.
 */
opaqueBytes?: number, 
/**
 * How many, by size: `small`, `medium`, `large`, `unknown`.
 */
images?: { [key in string]: number }, 
/**
 * Missing: the id.
 */
digest?: string, 
/**
 * Tools that it calls.
 */
calls?: number, results?: Array<ReplayResult>, };

export type ReplayUsage = { 
/**
 * Gross: with what came from a cache.
 */
prompt?: number, 
/**
 * Of the prompt, what came from a cache. It is in it, and changes nothing.
 */
cached?: number, completion?: number, 
/**
 * Of the completion, what was thought.
 */
thought?: number, 
/**
 * Bytes of the answer's words and of its thoughts.
 */
answerBytes?: number, thoughtBytes?: number, 
/**
 * The parts of the count do not add up.
 */
notProvable?: boolean, 
/**
 * An image of the conversation was not sent.
 */
imageDropped?: boolean, };

export type ReplayExpected = { kind?: ReadingKind, tokens?: number, 
/**
 * Percent that `tokens` and `image` may be off.
 */
within?: number, verdict?: GateVerdict, reason?: GateReason, row?: string, 
/**
 * Whether a count holds from now on.
 */
anchored?: boolean, 
/**
 * The price of an image that was learned.
 */
image?: number, 
/**
 * Why nothing was learned, or why a count does not hold.
 */
refused?: string, 
/**
 * Why a stored count is gone.
 */
lost?: string, began?: boolean, 
/**
 * How many rows a plan would summarise, and how many notes it would make.
 */
summarised?: number, notes?: number, 
/**
 * Of a plan, at most this many tokens after it.
 */
atMost?: number, fits?: boolean, leaveOut?: Array<string>, };

export type ReplayFact = { "do": "route", route: string, thoughts: ReplayThoughts, 
/**
 * What was learned about it before, as the store keeps it.
 */
rates?: unknown, } | { "do": "limits", window?: number, reserve: number, toolResult: number, threshold?: number, countable: boolean, mode: CompactionMode, } | { "do": "head", system: ReplayPart, tools: ReplayPart, } | { "do": "rows", rows: Array<ReplayRow>, replace: boolean, } | { "do": "send" } | { "do": "answer", usage?: ReplayUsage, } | { "do": "fail" } | { "do": "reject", prompt?: number, window?: number, } | { "do": "count", tokens: number, } | { "do": "imageCounted", size: string, with: number, without: number, } | { "do": "gate", moment: GateMoment, } | { "do": "begin" } | { "do": "end", outcome: CompactionOutcome, left?: number, } | { "do": "unblock" } | { "do": "plan" } | { "do": "floor", system: number, tools: Array<ReplayTool>, } | { "do": "restart", anchor?: unknown, };

export type ReplayStep = { 
/**
 * The clock from here on, in seconds since any day.
 */
at?: number, expect?: ReplayExpected, } & ({ "do": "route", route: string, thoughts: ReplayThoughts, 
/**
 * What was learned about it before, as the store keeps it.
 */
rates?: unknown, } | { "do": "limits", window?: number, reserve: number, toolResult: number, threshold?: number, countable: boolean, mode: CompactionMode, } | { "do": "head", system: ReplayPart, tools: ReplayPart, } | { "do": "rows", rows: Array<ReplayRow>, replace: boolean, } | { "do": "send" } | { "do": "answer", usage?: ReplayUsage, } | { "do": "fail" } | { "do": "reject", prompt?: number, window?: number, } | { "do": "count", tokens: number, } | { "do": "imageCounted", size: string, with: number, without: number, } | { "do": "gate", moment: GateMoment, } | { "do": "begin" } | { "do": "end", outcome: CompactionOutcome, left?: number, } | { "do": "unblock" } | { "do": "plan" } | { "do": "floor", system: number, tools: Array<ReplayTool>, } | { "do": "restart", anchor?: unknown, });

export type Replay = { 
/**
 * 1.
 */
schema: number, about: string, steps: Array<ReplayStep>, };

export type ReplayHeard = { anchored: boolean, predicted?: number, 
/**
 * Millionths of a token for a byte, where text was learned.
 */
text?: number, 
/**
 * The price of an image, where one was learned.
 */
image?: number, refused?: string, };

export type CutNote = { row: string, call?: string, 
/**
 * `same`, `short` or `image`.
 */
kind: string, keepBytes: number, };

export type CutPlan = { 
/**
 * Rows that a summary would stand for.
 */
summarise: Array<string>, 
/**
 * Rows that stay word for word.
 */
keep: Array<string>, notes: Array<CutNote>, 
/**
 * Tokens of the whole request, estimated.
 */
before: number, after: number, 
/**
 * Also the newest results would have to be shortened.
 */
squeezed: boolean, };

export type FloorReport = { 
/**
 * Tokens of instructions and tools.
 */
floor: number, fits: boolean, 
/**
 * Tools to leave out so that it fits.
 */
leaveOut: Array<string>, };

export type CompactionLine = { id: string, madeAt: number, 
/**
 * Rows that the summary stands for, with those of earlier compactions.
 */
rows: number, 
/**
 * Results and images that a note stands for.
 */
notes: number, 
/**
 * The message that it stands behind; missing where it belongs to another branch.
 */
after?: string, 
/**
 * Empty where notes were enough.
 */
summary: string, 
/**
 * Tokens of the whole request, estimated.
 */
beforeTokens: number, afterTokens: number, 
/**
 * The model that wrote the summary.
 */
by: string, 
/**
 * It went on from the conversation's own cached prompt.
 */
forked: boolean, };

export type ContextView = { conversation: string, reading: ContextReading, window?: number, threshold?: number, mode: CompactionMode, 
/**
 * A summary is being made now.
 */
compacting: boolean, 
/**
 * One waits for the next turn.
 */
pending: boolean, 
/**
 * What the last gate decided.
 */
decision?: GateDecision, 
/**
 * Of all answers that are shown, as far as it is known of every one.
 */
cost?: Cost, 
/**
 * Of the last one.
 */
turnCost?: Cost, 
/**
 * Tokens of an image, once a server has said so.
 */
imagePrice?: number, compactions: Array<CompactionLine>, };

export type ArchiveRow = { id: string, kind: ReplayRowKind, text: string, 
/**
 * Something stands for it in what is sent.
 */
archived: boolean, };

export type Archive = { rows: Array<ArchiveRow>, };

export type CutPreview = { plan?: CutPlan, 
/**
 * Why nothing can be: `nothingToCut`, `messageTooLarge`, `windowUnknown`.
 */
why?: string, 
/**
 * Rows that stay word for word, by their first words.
 */
keep: Array<ArchiveRow>, };

export type CompactionDone = { outcome: CompactionOutcome, context: ContextView, };

export type ReplayLine = { 
/**
 * From 1.
 */
step: number, at: number, 
/**
 * The step's name.
 */
does: string, reading: ContextReading, decision?: GateDecision, heard?: ReplayHeard, plan?: CutPlan, floor?: FloorReport, 
/**
 * Why the last count is gone, or why nothing can be cut.
 */
lost?: string, began?: boolean, 
/**
 * What is not as the file expects it: `field: expected, found`.
 */
wrong?: Array<string>, };

export type ReplayReport = { about: string, lines: Array<ReplayLine>, 
/**
 * How many expectations were not met.
 */
wrong: number, };

export type ProviderProtocol = "openaiChat" | "openaiResponses" | "anthropicMessages";

export type KeyFrom = "nowhere" | "environment" | "keyring" | "memory";

export type KeyPlace = "keyring" | "memory";

export type TokenPrices = { input: number, cached?: number, output: number, 
/**
 * The day of the price list.
 */
checked: string, source: string, };

export type CloudModel = { 
/**
 * What a conversation is answered by: `@provider/model`.
 */
id: string, name: string, context?: number, images: boolean, tools: boolean, prices?: TokenPrices, };

export type ProviderEntry = { id: string, name: string, protocol: ProviderProtocol, 
/**
 * With its version part: `https://api.example.com/v1`.
 */
baseUrl: string, 
/**
 * A server of the person's own: nothing leaves the house, and nothing costs.
 */
ownServer: boolean, 
/**
 * Added by the person.
 */
custom: boolean, key: KeyFrom, 
/**
 * Answers without a key too.
 */
keyOptional: boolean, 
/**
 * The environment variable that a key is read from, where none is kept.
 */
keyVariable?: string, 
/**
 * Those that the person chose for the picker.
 */
models: Array<CloudModel>, };

export type Providers = { providers: Array<ProviderEntry>, 
/**
 * Where a key that is typed in now would be kept.
 */
keysIn: KeyPlace, };

export type ProviderModels = { models: Array<string>, };

export type RouteLosses = { images: number, 
/**
 * Sealed thoughts of another model.
 */
thoughts: number, 
/**
 * Calls of tools, which are sent as words.
 */
calls: number, 
/**
 * The conversation leaves this computer.
 */
leaves: boolean, };

export type StepName = "engine" | "model" | "start" | "proof";

export type StepState = "waiting" | "running" | "done" | "failed" | "stopped";

export type SetupStep = { name: StepName, state: StepState, 
/**
 * 0 to 1, where the step can tell.
 */
value?: number, };

export type Setup = { model: string, quant: string, steps: Array<SetupStep>, running: boolean, done: boolean, 
/**
 * All bytes of engine and model together.
 */
doneBytes: number, totalBytes: number, secondsLeft?: number, fault?: Fault, };

export type DeviceUse = { 
/**
 * Device id, or `memory` for RAM.
 */
id: string, name: string, totalBytes: number, 
/**
 * Our processes, llama-server included.
 */
appBytes: number, othersBytes: number, 
/**
 * The driver does not say whose memory it is; then all that is used is under `others`.
 */
appUnknown?: boolean, };

export type Sample = { takenAt: number, 
/**
 * 0 to 100, of all cores together.
 */
cpuPercent: number, memory: DeviceUse, devices: Array<DeviceUse>, };

export type TransferFile = { name: string, doneBytes: number, totalBytes: number, };

export type Transferring = "running" | "checking" | "done" | "stopped" | "cancelled" | "failed";

export type Transfer = { id: string, 
/**
 * What is being fetched: a model id or an engine id.
 */
subject: string, state: Transferring, doneBytes: number, totalBytes: number, bytesPerS: number, 
/**
 * What should be known and does not stop it: a file that is not what the catalog says.
 */
notes?: Array<Reason>, 
/**
 * For all that is left of it. Missing while no speed is known.
 */
secondsLeft?: number, 
/**
 * How far each file is, while it runs.
 */
files?: Array<TransferFile>, fault?: Fault, };

export type Status = { version: string, router: Router, setup?: Setup, sample?: Sample, transfers: Array<Transfer>, 
/**
 * Conversations with a turn running.
 */
running: Array<string>, 
/**
 * What other programs ask of our endpoint now, by model.
 */
endpointUses?: Array<EndpointUse>, 
/**
 * No model was ever set up here: the page shows the first start.
 */
firstStart: boolean, 
/**
 * The model that a new conversation uses.
 */
defaultModel?: string, };

export type Settings = { 
/**
 * `system`, `light` or `dark`.
 */
theme?: string, 
/**
 * A language code of the language files, or `system`.
 */
language?: string, 
/**
 * `comfortable` or `compact`.
 */
density?: string, statusBar?: boolean, defaultModel?: string, 
/**
 * Offer the loopback endpoint to other apps.
 */
endpoint?: boolean, 
/**
 * How often the status bar is read, in milliseconds; 1500 when never set, from 250 to 60000.
 */
sampleEveryMs?: number, 
/**
 * Ask a model in a cloud for the title of a conversation that it answered in; yes when never set.
 */
titles?: boolean, 
/**
 * Minutes after which a model that nobody uses gives its memory back; 0 for never. Half an hour when missing.
 */
idleMinutes?: number, 
/**
 * Unload what nobody uses when the machine has slept. Off when missing.
 */
releaseOnSleep?: boolean, };

export type ForeignServers = { servers: Array<ForeignServer>, };

export type ForeignServer = { 
/**
 * Kind and port.
 */
id: string, kind: ServerKind, port: number, 
/**
 * Missing where its process cannot be seen, as in a container.
 */
pid?: number, 
/**
 * What it and its children hold in the RAM.
 */
memoryBytes?: number, 
/**
 * What it says to hold on devices.
 */
deviceBytes?: number, models: Array<string>, 
/**
 * It wants a key: the person sets it beside the provider.
 */
wantsKey: boolean, 
/**
 * Its models are offered in the picker.
 */
used: boolean, ignored: boolean, };

export type ServerKind = "llamaServer" | "ollama" | "lmStudio";

export type Endpoint = { 
/**
 * Ends in `/v1`. Missing while nobody listens.
 */
url?: string, key: string, 
/**
 * Why nobody listens although somebody should, such as a taken port. `endpoint/open` tries again.
 */
fault?: Fault, };

export type EndpointUse = { 
/**
 * As it was asked for: one of a model's names.
 */
model: string, requests: number, };

export type TokenFrom = "nowhere" | "environment" | "file";

export type HubSite = { 
/**
 * Its address: what `HF_ENDPOINT` names, or the public hub.
 */
url: string, 
/**
 * Nothing is asked of it (`HF_HUB_OFFLINE`).
 */
offline: boolean, token: TokenFrom, 
/**
 * Where a token is kept: the file that the hub's own tools read and write. Missing where there is no home.
 */
tokenFile?: string, };

export type Done = Record<symbol, never>;

export type Started = { id: string, };

export type Conversations = { conversations: Array<ConversationSummary>, };

export type Removed = { freedBytes: number, };

export type Event = { "type": "routerChanged", router: Router, } | { "type": "setupMoved", setup: Setup, } | { "type": "transferMoved", transfer: Transfer, } | { "type": "sampled", sample: Sample, } | { "type": "libraryChanged" } | { "type": "compared", comparing: Comparing, } | { "type": "enginesChanged" } | { "type": "settingsChanged" } | { "type": "endpointUsed", uses: Array<EndpointUse>, } | { "type": "machineChanged" } | { "type": "conversationChanged", conversation: ConversationSummary, } | { "type": "turnStarted", conversation: string, turn: string, 
/**
 * The question. What was shown behind the message that it follows, or behind itself, no longer is.
 */
user: Message, 
/**
 * Where the answer stands among others to this question.
 */
branch?: Branch, } | { "type": "turnWaiting", conversation: string, turn: string, afterMs: number, fault: Fault, } | { "type": "promptRead", conversation: string, turn: string, done: number, total: number, } | { "type": "textAdded", conversation: string, turn: string, text: string, } | { "type": "reasoningAdded", conversation: string, turn: string, text: string, } | { "type": "toolsMoved", conversation: string, turn: string, tools: Array<ToolUse>, } | { "type": "toolAsked", conversation: string, turn: string, call: string, tool: string, effect: ToolEffect, } | { "type": "turnEnded", conversation: string, turn: string, end: ChatEnd, stats?: TurnStats, fault?: Fault, } | { "type": "contextChanged", conversation: string, compacting: boolean, } | { "type": "missed" };

export type ReadStatus = Record<symbol, never>;

export type WatchStatus = { on: boolean, };

export type ReadMachine = { 
/**
 * Probe again instead of giving the last answer.
 */
fresh: boolean, 
/**
 * Measure the speed of the RAM as well when it is not known yet: a third of a second of all processors.
 */
measure?: boolean, };

export type ReadMachineDetails = { fresh: boolean, measure?: boolean, };

export type OverrideMachine = { overrides: MachineOverrides, };

export type MakePlan = { model: string, wishes: PlanWishes, 
/**
 * Another machine than this one.
 */
machine?: Machine, 
/**
 * Measured runs of that machine; the speed is predicted from them.
 */
anchors?: Array<Anchor>, };

export type Recommend = { 
/**
 * Another machine than this one.
 */
machine?: Machine, };

export type StartSetup = { 
/**
 * Catalog or library id.
 */
model: string, quant: string, 
/**
 * The person accepted the licence that was shown.
 */
licenceAccepted: boolean, };

export type StopSetup = Record<symbol, never>;

export type ListModels = Record<symbol, never>;

export type ReadModel = { model: string, };

export type RefreshCatalog = Record<symbol, never>;

export type PullModel = { model: string, licenceAccepted: boolean, };

export type StopPull = { id: string, };

export type CancelPull = { id: string, };

export type ImportModel = { path: string, };

export type VerifyModel = { id: string, };

export type RemoveModel = { id: string, };

export type FindDuplicates = { compare: boolean, };

export type StopComparing = Record<symbol, never>;

export type ReadFolders = Record<symbol, never>;

export type AddFolder = { path: string, };

export type RemoveFolder = { path: string, };

export type MoveLibrary = { path: string, };

export type SearchHub = { words: string, };

export type ListVariants = { repo: string, };

export type FitVariant = { repo: string, path: string, };

export type ListEngines = Record<symbol, never>;

export type AddEngine = { path: string, };

export type UseEngine = { id: string, };

export type ReadNewestEngines = Record<symbol, never>;

export type RollBackEngine = Record<symbol, never>;

export type RemoveEngine = { id: string, };

export type CheckEngine = { id: string, };

export type InstallEngine = { flavour?: string, newest?: boolean, };

export type ReadRouter = Record<symbol, never>;

export type LoadModel = { model: string, wishes: PlanWishes, };

export type RunBench = { model: string, };

export type UnloadModel = { model: string, };

export type StopRouter = Record<symbol, never>;

export type ListConversations = { trash: boolean, };

export type OpenConversation = { id: string, };

export type CreateConversation = { model?: string, settings?: ChatSettings, };

export type RenameConversation = { id: string, title: string, };

export type DeleteConversation = { id: string, };

export type RestoreConversation = { id: string, };

export type EmptyTrash = Record<symbol, never>;

export type SearchConversations = { words: string, trash: boolean, };

export type ShowBranch = { conversation: string, message: string, };

export type ReadChatSettings = { id?: string, model: string, };

export type SetChatSettings = { id: string, settings: ChatSettings, };

export type SetModelSettings = { model: string, settings: ChatSettings, };

export type ExportConversation = { id: string, words?: MarkdownWords, save: boolean, };

export type ImportConversation = { text: string, };

export type StartTurn = { conversation: string, text: string, 
/**
 * Missing: the conversation's model, else the default model.
 */
model?: string, 
/**
 * The message of the person's whose place this one takes. That one stays with all that followed, on a
 * branch that is not shown.
 */
instead?: string, };

export type AnswerAgain = { conversation: string, 
/**
 * The question, or an answer to it. Missing: the last question that is shown.
 */
message?: string, 
/**
 * Missing: the conversation's model, else the default model.
 */
model?: string, };

export type SetTools = { id: string, tools: ToolSettings, };

export type AnswerTool = { conversation: string, call: string, answer: ToolAnswer, };

export type StopTurn = { conversation: string, };

export type ReadContext = { conversation: string, };

export type PlanCompaction = { conversation: string, };

export type CompactNow = { conversation: string, };

export type UndoCompaction = { conversation: string, id: string, };

export type SetCompactionMode = { conversation: string, mode: CompactionMode, };

export type ExpandCompaction = { conversation: string, id: string, };

export type SearchArchive = { conversation: string, words: string, };

export type ReportContext = { conversation: string, };

export type ListProviders = Record<symbol, never>;

export type SetProviderKey = { id: string, key: string, };

export type SaveProvider = { 
/**
 * Missing: a new one.
 */
id?: string, name: string, baseUrl: string, protocol: ProviderProtocol, };

export type RemoveProvider = { id: string, };

export type ListProviderModels = { id: string, };

export type ChooseProviderModels = { id: string, models: Array<string>, };

export type ReadLosses = { conversation: string, model: string, };

export type FindServers = Record<symbol, never>;

export type UseServer = { id: string, };

export type IgnoreServer = { id: string, ignored: boolean, };

export type ReadSettings = Record<symbol, never>;

export type WriteSettings = { settings: Settings, };

export type ReadEndpoint = Record<symbol, never>;

export type OpenEndpoint = Record<symbol, never>;

export type ReadHub = Record<symbol, never>;

export type SetHubToken = { token: string, };

/** Every call: what goes in and what comes back. */
export interface Calls {
  "status/read": { body: ReadStatus; reply: Status };
  "status/watch": { body: WatchStatus; reply: Done };
  "machine/read": { body: ReadMachine; reply: Machine };
  "machine/details": { body: ReadMachineDetails; reply: MachineDetails };
  "machine/override": { body: OverrideMachine; reply: MachineDetails };
  "plan/make": { body: MakePlan; reply: Plan };
  "plan/recommend": { body: Recommend; reply: Recommendation };
  "setup/start": { body: StartSetup; reply: Setup };
  "setup/stop": { body: StopSetup; reply: Done };
  "models/list": { body: ListModels; reply: Library };
  "models/read": { body: ReadModel; reply: LibraryModel };
  "models/refresh": { body: RefreshCatalog; reply: CatalogReply };
  "models/pull": { body: PullModel; reply: Started };
  "models/stopPull": { body: StopPull; reply: Done };
  "models/cancelPull": { body: CancelPull; reply: Removed };
  "models/import": { body: ImportModel; reply: LibraryModel };
  "models/verify": { body: VerifyModel; reply: VerifyReply };
  "models/remove": { body: RemoveModel; reply: Removed };
  "models/duplicates": { body: FindDuplicates; reply: Duplicates };
  "models/stopComparing": { body: StopComparing; reply: Duplicates };
  "folders/read": { body: ReadFolders; reply: Folders };
  "folders/add": { body: AddFolder; reply: Folders };
  "folders/remove": { body: RemoveFolder; reply: Folders };
  "folders/move": { body: MoveLibrary; reply: Started };
  "hub/search": { body: SearchHub; reply: HubSearch };
  "hub/variants": { body: ListVariants; reply: HubVariants };
  "hub/fit": { body: FitVariant; reply: HubFit };
  "engines/list": { body: ListEngines; reply: EngineList };
  "engines/add": { body: AddEngine; reply: EngineList };
  "engines/use": { body: UseEngine; reply: EngineList };
  "engines/newest": { body: ReadNewestEngines; reply: NewestEngines };
  "engines/rollBack": { body: RollBackEngine; reply: EngineList };
  "engines/remove": { body: RemoveEngine; reply: EngineList };
  "engines/check": { body: CheckEngine; reply: Check };
  "engines/install": { body: InstallEngine; reply: Started };
  "router/read": { body: ReadRouter; reply: Router };
  "router/load": { body: LoadModel; reply: Router };
  "bench/run": { body: RunBench; reply: BenchReply };
  "router/unload": { body: UnloadModel; reply: Router };
  "router/stop": { body: StopRouter; reply: Router };
  "conversations/list": { body: ListConversations; reply: Conversations };
  "conversations/open": { body: OpenConversation; reply: Conversation };
  "conversations/create": { body: CreateConversation; reply: Conversation };
  "conversations/rename": { body: RenameConversation; reply: Done };
  "conversations/delete": { body: DeleteConversation; reply: Done };
  "conversations/restore": { body: RestoreConversation; reply: Done };
  "conversations/emptyTrash": { body: EmptyTrash; reply: Emptied };
  "conversations/search": { body: SearchConversations; reply: FoundConversations };
  "conversations/show": { body: ShowBranch; reply: Conversation };
  "conversations/settings": { body: ReadChatSettings; reply: ChatSettingsReply };
  "conversations/setSettings": { body: SetChatSettings; reply: Done };
  "models/setSettings": { body: SetModelSettings; reply: Done };
  "conversations/export": { body: ExportConversation; reply: Exported };
  "conversations/import": { body: ImportConversation; reply: Conversation };
  "turn/start": { body: StartTurn; reply: Started };
  "turn/again": { body: AnswerAgain; reply: Started };
  "conversations/setTools": { body: SetTools; reply: Done };
  "tools/answer": { body: AnswerTool; reply: Done };
  "turn/stop": { body: StopTurn; reply: Done };
  "context/read": { body: ReadContext; reply: ContextView };
  "context/plan": { body: PlanCompaction; reply: CutPreview };
  "context/compact": { body: CompactNow; reply: CompactionDone };
  "context/undo": { body: UndoCompaction; reply: ContextView };
  "context/setMode": { body: SetCompactionMode; reply: ContextView };
  "context/expand": { body: ExpandCompaction; reply: Archive };
  "context/search": { body: SearchArchive; reply: Archive };
  "context/report": { body: ReportContext; reply: Replay };
  "providers/list": { body: ListProviders; reply: Providers };
  "providers/setKey": { body: SetProviderKey; reply: Providers };
  "providers/save": { body: SaveProvider; reply: Providers };
  "providers/remove": { body: RemoveProvider; reply: Providers };
  "providers/models": { body: ListProviderModels; reply: ProviderModels };
  "providers/choose": { body: ChooseProviderModels; reply: Providers };
  "routes/losses": { body: ReadLosses; reply: RouteLosses };
  "servers/find": { body: FindServers; reply: ForeignServers };
  "servers/use": { body: UseServer; reply: ForeignServers };
  "servers/ignore": { body: IgnoreServer; reply: ForeignServers };
  "settings/read": { body: ReadSettings; reply: Settings };
  "settings/write": { body: WriteSettings; reply: Settings };
  "endpoint/read": { body: ReadEndpoint; reply: Endpoint };
  "endpoint/open": { body: OpenEndpoint; reply: Done };
  "hub/read": { body: ReadHub; reply: HubSite };
  "hub/setToken": { body: SetHubToken; reply: HubSite };
}
