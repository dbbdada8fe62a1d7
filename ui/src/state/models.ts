import type { Library, LibraryModel, LoadedModel, ModelEntry, Plan, Transfer, Variant } from "@/wire/wire";

import { useAsk } from "./ask";
import { isActive, routerModels, useLive } from "./live";

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
}

const ORDER = { fits: 0, spills: 1, tooBig: 2 } as const;

/** Best first: what fits before what spills, then the more capable, that is the larger. */
export function byFit(a: Choosable, b: Choosable): number {
  const verdict = (one: Choosable) => (one.plan ? ORDER[one.plan.verdict] : 1);
  return verdict(a) - verdict(b) || (b.entry?.parameters ?? 0) - (a.entry?.parameters ?? 0);
}

/** The variant to offer first: the largest that fits, else the largest that spills, else the smallest. */
export function bestVariant(entry: ModelEntry): Variant | undefined {
  const largest = (verdict: string) =>
    entry.variants
      .filter((variant) => variant.plan?.verdict === verdict)
      .toSorted((a, b) => b.bytes - a.bytes)
      .at(0);
  return (
    entry.variants.find((variant) => variant.state === "onDisk") ??
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
): { disk: Choosable[]; offered: Choosable[] } {
  if (!library) return { disk: [], offered: [] };
  const moving = Object.values(transfers).filter((transfer) => transfer.state !== "done");
  const disk = library.models.map((model): Choosable => {
    const entry = library.catalog.find((one) => model.id.startsWith(`${one.id}:`));
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
    };
  });
  const offered = library.catalog
    .filter((entry) => !disk.some((model) => model.entry?.id === entry.id && model.disk?.state === "ready"))
    .flatMap((entry): Choosable[] => {
      const under = moving.find(
        (transfer) => transfer.subject.startsWith(`${entry.id}:`) && isActive(transfer),
      );
      const variant =
        entry.variants.find((one) => under?.subject === `${entry.id}:${one.quant}`) ?? bestVariant(entry);
      if (!variant) return [];
      const id = `${entry.id}:${variant.quant}`;
      if (disk.some((model) => model.id === id)) return [];
      return [
        {
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
        },
      ];
    });
  return { disk: disk.toSorted(byFit), offered: offered.toSorted(byFit) };
}

/** Any model or variant by its id, also one that no shelf shows. */
export function findModel(
  id: string,
  shelved: { disk: readonly Choosable[]; offered: readonly Choosable[] },
  library: Library | undefined,
  transfers: Readonly<Record<string, Transfer>>,
): Choosable | undefined {
  const there = [...shelved.disk, ...shelved.offered];
  const found = there.find((model) => model.id === id);
  if (found) return found;
  const [base, quant] = id.split(":");
  const entry = library?.catalog.find((one) => one.id === base);
  const variant = entry?.variants.find((one) => one.quant === quant);
  if (!entry || !variant) return there.find((model) => model.entry !== undefined && model.entry.id === base);
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
    transfer: Object.values(transfers).find((one) => one.subject === id && one.state !== "done"),
  };
}

export function useShelves() {
  const library = useAsk("models/list", {});
  const router = useLive((live) => live.router);
  const transfers = useLive((live) => live.transfers);
  return { ...shelves(library.data, routerModels(router), transfers), library };
}

/** The name of a model, wherever it is known from. */
export function modelName(id: string, library: Library | undefined, loaded: readonly LoadedModel[]): string {
  return (
    loaded.find((one) => one.id === id)?.name ??
    library?.models.find((one) => one.id === id)?.name ??
    library?.catalog.find((one) => id === one.id || id.startsWith(`${one.id}:`))?.name ??
    id
  );
}

export function useModelName(id: string | undefined): string | undefined {
  const library = useAsk("models/list", {});
  const router = useLive((live) => live.router);
  return id === undefined ? undefined : modelName(id, library.data, routerModels(router));
}
