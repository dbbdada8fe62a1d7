import type {
  CloudModel,
  Library,
  LibraryModel,
  LoadedModel,
  ModelEntry,
  Plan,
  Reason,
  Recommendation,
  Transfer,
  Variant,
} from "@/wire/wire";

import { useAsk } from "./ask";
import { isActive, isKept, routerModels, useLive } from "./live";

/** A model as a person chooses it: one variant, on disk or not, with all that is known about it. */
export interface Choosable {
  /** `catalog-id:QUANT`, or the library's own id. */
  id: string;
  name: string;
  quant: string;
  bytes: number;
  plan: Plan | undefined;
  entry: ModelEntry | undefined;
  variant: Variant | undefined;
  disk: LibraryModel | undefined;
  loaded: LoadedModel | undefined;
  transfer: Transfer | undefined;
  /** The planner's own order; see {@link judged}. */
  rank: number;
  /** Why the planner would not pick it: too slow, too big, not for chat. */
  against: Reason | undefined;
  /** It answers elsewhere, at this provider. */
  cloud?: CloudModel & { provider: string; ownServer: boolean };
}

/** What the catalog says of a model, in the reader's language where it has it. */
export function aboutOf(entry: ModelEntry | undefined, language: string): string | undefined {
  return entry?.aboutIn[language.slice(0, 2)] ?? entry?.about;
}

/** Places in the planner's order. What it did not mention stands between what it likes and what it rejects. */
const UNMENTIONED = 100;
const REJECTED = 1000;
const UNFIT = 1e6;

/** What the planner thinks of a model, by catalog id. */
interface Judgement {
  rank: number;
  quant: string;
  against: Reason | undefined;
}

/**
 * The planner's judgement of every model it mentions: the pick, the alternatives in its order, then what it
 * rejects, the nearly good enough first.
 */
export function judged(recommendation: Recommendation | undefined): Map<string, Judgement> {
  const out = new Map<string, Judgement>();
  if (!recommendation) return out;
  const { pick, alternatives, rejected } = recommendation;
  if (pick) out.set(pick.model, { rank: 0, quant: pick.quant, against: undefined });
  alternatives.forEach((one, index) => {
    if (!out.has(one.model)) out.set(one.model, { rank: index + 1, quant: one.quant, against: undefined });
  });
  for (const one of rejected) {
    if (out.has(one.model)) continue;
    const seconds = one.params["seconds"];
    const rank = one.code === "tooBig" ? UNFIT : REJECTED + (typeof seconds === "number" ? seconds : 0);
    out.set(one.model, { rank, quant: one.quant, against: { code: one.code, params: one.params } });
  }
  return out;
}

/** Best first, as the planner ranks; among equals the more capable, that is the larger. */
export function byRank(a: Choosable, b: Choosable): number {
  return a.rank - b.rank || (b.entry?.parameters ?? 0) - (a.entry?.parameters ?? 0);
}

function rankOf(plan: Plan | undefined, judgement: Judgement | undefined): number {
  if (plan?.verdict === "tooBig") return UNFIT;
  return judgement?.rank ?? UNMENTIONED;
}

/**
 * The variant to offer first: what is on disk, what the planner names, else the largest that fits, the
 * largest that spills, the smallest.
 */
export function bestVariant(entry: ModelEntry, named?: string): Variant | undefined {
  const largest = (verdict: string) =>
    entry.variants
      .filter((variant) => variant.plan?.verdict === verdict)
      .toSorted((a, b) => b.bytes - a.bytes)
      .at(0);
  return (
    entry.variants.find((variant) => variant.state === "onDisk") ??
    entry.variants.find((variant) => variant.quant === named) ??
    largest("fits") ??
    largest("spills") ??
    entry.variants.toSorted((a, b) => a.bytes - b.bytes).at(0)
  );
}

/** The two shelves: what is on disk, and the best variant of everything else. */
export function shelves(
  library: Library | undefined,
  loaded: readonly LoadedModel[],
  transfers: Readonly<Record<string, Transfer>>,
  recommendation?: Recommendation,
): Shelves {
  if (!library) return { disk: [], offered: [], coming: [] };
  const judgements = judged(recommendation);
  const moving = Object.values(transfers).filter(isKept);
  const disk = library.models.map((model): Choosable => {
    const entry = library.catalog.find((one) => model.id.startsWith(`${one.id}:`));
    const judgement = entry && judgements.get(entry.id);
    return {
      id: model.id,
      name: model.name,
      quant: model.quant,
      bytes: model.bytes,
      plan: model.plan,
      entry,
      variant: entry?.variants.find((variant) => variant.quant === model.quant),
      disk: model,
      loaded: loaded.find((one) => one.id === model.id),
      transfer: moving.find((transfer) => transfer.subject === model.id),
      rank: rankOf(model.plan, judgement),
      against: judgement?.quant === model.quant ? judgement.against : undefined,
    };
  });
  const offered = library.catalog
    .filter((entry) => !disk.some((model) => model.entry?.id === entry.id && model.disk?.state === "ready"))
    .flatMap((entry): Choosable[] => {
      const judgement = judgements.get(entry.id);
      const under = moving.find(
        (transfer) => transfer.subject.startsWith(`${entry.id}:`) && isActive(transfer),
      );
      const variant =
        entry.variants.find((one) => under?.subject === `${entry.id}:${one.quant}`) ??
        bestVariant(entry, judgement?.quant);
      if (!variant || disk.some((model) => model.id === `${entry.id}:${variant.quant}`)) return [];
      return [absent(entry, variant, moving, judgement)];
    });
  const coming = moving
    .filter((transfer) => transfer.subject.includes("/") && !disk.some((one) => one.id === transfer.subject))
    .map(incoming);
  return { disk: disk.toSorted(byRank), offered: offered.toSorted(byRank), coming };
}

/** A file of the hub that is on its way, and that nobody knows more of yet. */
function incoming(transfer: Transfer): Choosable {
  const file = transfer.subject.split("/").at(-1) ?? transfer.subject;
  return {
    id: transfer.subject,
    name: file.replace(/\.gguf$/i, ""),
    quant: "",
    bytes: transfer.totalBytes,
    plan: undefined,
    entry: undefined,
    variant: undefined,
    disk: undefined,
    loaded: undefined,
    transfer,
    rank: UNMENTIONED,
    against: undefined,
  };
}

interface Shelves {
  disk: Choosable[];
  offered: Choosable[];
  /** Files of the hub that the catalog does not know, under way. */
  coming: Choosable[];
}

/** A variant of the catalog that is not on disk. */
function absent(
  entry: ModelEntry,
  variant: Variant,
  moving: readonly Transfer[],
  judgement: Judgement | undefined,
): Choosable {
  const id = `${entry.id}:${variant.quant}`;
  return {
    id,
    name: entry.name,
    quant: variant.quant,
    bytes: variant.bytes,
    plan: variant.plan,
    entry,
    variant,
    disk: undefined,
    loaded: undefined,
    transfer: moving.find((transfer) => transfer.subject === id),
    rank: rankOf(variant.plan, judgement),
    against: judgement?.quant === variant.quant ? judgement.against : undefined,
  };
}

/** Any model or variant by its id, also one that no shelf shows. */
export function findModel(
  id: string,
  shelved: Shelves,
  library: Library | undefined,
  transfers: Readonly<Record<string, Transfer>>,
): Choosable | undefined {
  const there = [...shelved.disk, ...shelved.offered, ...shelved.coming];
  const found = there.find((model) => model.id === id);
  if (found) return found;
  const [base, quant] = id.split(":");
  const entry = library?.catalog.find((one) => one.id === base);
  const variant = entry?.variants.find((one) => one.quant === quant);
  if (!entry || !variant) return there.find((model) => model.entry !== undefined && model.entry.id === base);
  const moving = Object.values(transfers).filter(isKept);
  return absent(entry, variant, moving, undefined);
}

export function useShelves() {
  const library = useAsk("models/list", {});
  const recommendation = useAsk("plan/recommend", {});
  const router = useLive((live) => live.router);
  const transfers = useLive((live) => live.transfers);
  return { ...shelves(library.data, routerModels(router), transfers, recommendation.data), library };
}

/** The models elsewhere that the person chose for the picker. */
export function useCloudShelf(): Choosable[] {
  const providers = useAsk("providers/list", {});
  return (providers.data?.providers ?? []).flatMap((provider) =>
    provider.models.map((model, index) => ({
      id: model.id,
      name: model.name,
      quant: provider.name,
      bytes: 0,
      plan: undefined,
      entry: undefined,
      variant: undefined,
      disk: undefined,
      loaded: undefined,
      transfer: undefined,
      rank: index,
      against: undefined,
      cloud: { ...model, provider: provider.name, ownServer: provider.ownServer },
    })),
  );
}

/** The name of a model, wherever it is known from. */
export function modelName(id: string, library: Library | undefined, loaded: readonly LoadedModel[]): string {
  return (
    loaded.find((one) => one.id === id)?.name ??
    library?.models.find((one) => one.id === id)?.name ??
    library?.catalog.find((one) => id === one.id || id.startsWith(`${one.id}:`))?.name ??
    // `@provider/model`
    (id.startsWith("@") ? id.slice(id.indexOf("/") + 1) : id)
  );
}

export function useModelName(id: string | undefined): string | undefined {
  const library = useAsk("models/list", {});
  const router = useLive((live) => live.router);
  return id === undefined ? undefined : modelName(id, library.data, routerModels(router));
}
