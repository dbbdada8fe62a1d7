import type { Setup, SetupStep } from "@/wire/wire";

/** Shares of the one bar. The bytes take the time; loading and the proof are short. */
const START_SHARE = 0.08;
const PROOF_SHARE = 0.04;
/** With nothing to fetch the bar belongs to loading. */
const START_ALONE = 0.8;

/** One number for engine → model → start → proof. */
export function overall(setup: Setup, loading: number | undefined): number {
  if (setup.done) return 1;
  const fetching = setup.totalBytes > 0;
  const startShare = fetching ? START_SHARE : START_ALONE;
  const proofShare = fetching ? PROOF_SHARE : 1 - START_ALONE;
  const bytesShare = fetching ? 1 - startShare - proofShare : 0;
  const step = (name: SetupStep["name"]) => setup.steps.find((one) => one.name === name);

  let total = fetching ? bytesShare * Math.min(1, setup.doneBytes / setup.totalBytes) : 0;
  const start = step("start");
  if (start?.state === "done") total += startShare;
  else if (start?.state === "running") total += startShare * (start.value ?? loading ?? 0);
  const proof = step("proof");
  if (proof?.state === "done") total += proofShare;
  else if (proof?.state === "running") total += proofShare * (proof.value ?? 0.5);
  return Math.min(1, total);
}
