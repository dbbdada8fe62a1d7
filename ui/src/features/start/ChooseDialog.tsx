import { useTranslation } from "react-i18next";

import { Dialog } from "@/components/Dialog";
import { ContextPill, FitPill, SpeedPill } from "@/features/picker/pills";
import { useFormat } from "@/i18n/format";
import { reasonText, unfitReason } from "@/i18n/reasons";
import { byRank, shelves } from "@/state/models";
import type { Library, Recommendation } from "@/wire/wire";

import type { Wanted } from "./FirstStart";

/** All models by fit. What cannot run is shown with its reason, not hidden. */
export function ChooseDialog({
  library,
  recommendation,
  onChoose,
  onClose,
}: {
  library: Library;
  recommendation: Recommendation;
  onChoose: (wanted: Wanted) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const { disk, offered } = shelves(library, [], {}, recommendation);
  const models = [...disk.filter((model) => model.disk?.state === "ready"), ...offered].toSorted(byRank);
  return (
    <Dialog open wide onClose={onClose} title={t("start.chooseTitle")} about={t("start.chooseAbout")}>
      <ul className="-mx-2 flex flex-col gap-0.5">
        {models.map((model) => {
          const unfit = model.plan?.verdict === "tooBig";
          const why = unfitReason(model.plan) ?? model.against;
          return (
            <li key={model.id}>
              <button
                type="button"
                disabled={unfit}
                onClick={() => onChoose({ model: model.entry?.id ?? model.id, quant: model.quant })}
                className="flex w-full flex-wrap items-center gap-x-4 gap-y-1.5 rounded-lg px-3 py-2 text-left transition-colors not-disabled:hover:bg-sunken"
              >
                <span className="min-w-0 flex-1 basis-52">
                  <span className="flex items-baseline gap-2">
                    <span className="truncate text-base font-medium">{model.name}</span>
                    <span className="num text-xs text-ink-3">{model.quant}</span>
                  </span>
                  <span className="num block text-sm text-ink-2">
                    {why
                      ? reasonText(t, format, why)
                      : model.disk
                        ? t("start.costNothing")
                        : t("picker.toDownload", { bytes: model.bytes })}
                  </span>
                </span>
                <span className="flex flex-wrap gap-1.5">
                  {!unfit && model.plan && <SpeedPill plan={model.plan} />}
                  {!unfit && model.plan && <ContextPill tokens={model.plan.settings.context} />}
                  <FitPill plan={model.plan} against={model.against} />
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </Dialog>
  );
}
