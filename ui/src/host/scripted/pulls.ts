import { libraryModel } from "./data";
import { fileBytes } from "./planning";
import type { World } from "./world";

export function startPull(world: World, id: string, quant: string, from = 0): void {
  const model = `${id}:${quant}`;
  const totalBytes = fileBytes(id, quant);
  const before = world.transfers.get(model)?.doneBytes ?? from * totalBytes;
  runTransfer(
    world,
    { id: model, subject: model, state: "running", doneBytes: before, totalBytes, bytesPerS: 11.4e6 },
    () => {
      world.models = [
        ...world.models.filter((one) => one.id !== model),
        libraryModel(id, quant, world.where),
      ];
      world.emit({ type: "libraryChanged" });
    },
  );
}

/** A file of a repository that the catalog does not know. */
export function startHubPull(world: World, id: string): void {
  const totalBytes = fileBytes("qwen3-8b", "Q4_K_M");
  runTransfer(
    world,
    { id, subject: id, state: "running", doneBytes: 0, totalBytes, bytesPerS: 11.4e6 },
    () => {
      const { licence: _licence, ...model } = libraryModel("qwen3-8b", "Q4_K_M", world.where);
      world.models = [
        ...world.models.filter((one) => one.id !== id),
        { ...model, id, name: id.split("/")[1] ?? id },
      ];
      world.emit({ type: "libraryChanged" });
    },
  );
}

export function runTransfer(
  world: World,
  transfer: ReturnType<World["transfers"]["get"]> & object,
  done: () => void,
): void {
  world.setTransfer(transfer);
  if (world.frozen) return;
  const key = `pull ${transfer.id}`;
  world.every(key, 250, () => {
    const current = world.transfers.get(transfer.id);
    if (!current) return;
    const doneBytes = Math.min(current.totalBytes, current.doneBytes + 4.2e7);
    if (doneBytes < current.totalBytes) {
      world.setTransfer({ ...current, doneBytes });
      return;
    }
    world.stop(key);
    world.setTransfer({ ...current, doneBytes, state: "done", bytesPerS: 0 });
    done();
  });
}

/** The library goes to another folder. */
export function startMove(world: World, to: string): void {
  const totalBytes = world.models.reduce((sum, one) => sum + (one.keeper ? 0 : one.bytes), 0);
  const doneBytes = world.transfers.get("moveLibrary")?.doneBytes ?? 0.3 * totalBytes;
  runTransfer(
    world,
    { id: "moveLibrary", subject: "moveLibrary", state: "running", doneBytes, totalBytes, bytesPerS: 2.1e8 },
    () => {
      world.library = to;
      world.movingTo = undefined;
      world.transfers.delete("moveLibrary");
      world.emit({ type: "libraryChanged" });
    },
  );
}
