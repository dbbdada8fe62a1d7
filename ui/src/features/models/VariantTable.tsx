import { useTranslation } from "react-i18next";

import { Columns } from "@/components/Columns";
import { FitPill } from "@/features/picker/pills";
import { useFormat } from "@/i18n/format";
import { cx } from "@/lib/cx";
import { bestVariant } from "@/state/models";
import type { ModelEntry } from "@/wire/wire";

/** Every variant of a model with what it would do here; a row is a way to its plan. */
export function VariantTable({
  entry,
  current,
  onSelect,
}: {
  entry: ModelEntry;
  current: string;
  onSelect: (id: string) => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const best = bestVariant(entry)?.quant;
  return (
    <>
      <p className="-mt-2 mb-3 text-sm text-ink-3">{t("models.variantAbout")}</p>
      <div className="overflow-x-auto">
        <table className="num w-full text-base whitespace-nowrap">
          <Columns
            columns={[
              { name: t("models.columns.variant") },
              { name: t("models.columns.size"), className: "text-right" },
              { name: t("models.columns.fit"), className: "pl-6" },
              { name: t("models.columns.context"), className: "text-right max-sm:hidden" },
              { name: t("models.columns.speed"), className: "pl-6 text-right max-sm:hidden" },
            ]}
          />
          <tbody>
            {entry.variants.map((variant) => {
              const speed = variant.plan?.speed?.decodeTps;
              const here = variant.quant === current;
              return (
                <tr key={variant.quant} className="border-t border-hairline">
                  <th scope="row" className="py-2 text-left font-normal">
                    <button
                      type="button"
                      aria-current={here || undefined}
                      onClick={() => onSelect(`${entry.id}:${variant.quant}`)}
                      className={cx(
                        "rounded-xs underline decoration-border underline-offset-3 hover:decoration-current",
                        here && "font-semibold no-underline",
                      )}
                    >
                      {variant.quant}
                    </button>
                    <span className="ml-2 text-xs text-ink-3">
                      {variant.state === "onDisk"
                        ? t("models.state.unloaded")
                        : variant.quant === best
                          ? t("models.variantPick")
                          : ""}
                    </span>
                    {variant.unverified && (
                      <span className="ml-2 text-xs text-ink-3">{t("models.unverified")}</span>
                    )}
                  </th>
                  <td className="py-2 text-right">{format.bytes(variant.bytes)}</td>
                  <td className="py-2 pl-6">
                    <FitPill plan={variant.plan} />
                  </td>
                  <td className="py-2 text-right max-sm:hidden">
                    {variant.plan ? format.tokens(variant.plan.settings.context) : "–"}
                  </td>
                  <td className="py-2 pl-6 text-right max-sm:hidden">
                    {speed ? format.range(speed.low, speed.high) : "–"}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}
