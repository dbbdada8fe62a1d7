import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button } from "@/components/Button";
import { Fold } from "@/components/Fold";
import { say } from "@/components/Toasts";
import { faultTitle } from "@/i18n/faults";
import { useFormat } from "@/i18n/format";
import { useAsk, useTell } from "@/state/ask";
import { useLive } from "@/state/live";

import { keeperName } from "./keepers";

/** Models that take space twice, and what that costs; nothing where there are none. */
export function Duplicates() {
  const { t } = useTranslation();
  const format = useFormat();
  const found = useAsk("models/duplicates", { compare: false });
  const compare = useTell("models/duplicates");
  const stop = useTell("models/stopComparing");
  const heard = useLive((live) => live.comparing);
  const data = found.data;
  if (!data || (data.same.length === 0 && data.openFiles === 0)) return null;
  const comparing = data.comparing && (heard ?? data.comparing);

  return (
    <div className="num mt-4 rounded-lg bg-sunken px-4 py-3 text-sm">
      {data.same.length > 0 && (
        <Fold label={t("models.twice", { size: format.bytes(data.savableBytes) })}>
          <ul className="mt-2 flex flex-col gap-2">
            {data.same.map((same) => (
              <li key={same.sha256}>
                <p className="text-ink-2">
                  {t("models.twiceOne", { count: same.copies.length, size: format.bytes(same.bytes) })}
                </p>
                <ul>
                  {same.copies.map((copy) => (
                    <li key={copy.path} className="truncate font-mono text-xs" title={copy.path}>
                      {copy.keeper && `${keeperName(t, copy.keeper)}: `}
                      {copy.path}
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
          <p className="mt-2 text-ink-3">{t("models.twiceAbout")}</p>
        </Fold>
      )}
      {comparing ? (
        <div className="flex items-center gap-3">
          <Bar
            label={t("models.comparing")}
            value={comparing.totalBytes === 0 ? undefined : comparing.doneBytes / comparing.totalBytes}
            className="flex-1"
          />
          <Button size="sm" look="quiet" onClick={() => stop.mutate({})}>
            {t("models.stop")}
          </Button>
        </div>
      ) : (
        data.openFiles > 0 && (
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
            <span className="min-w-0 flex-1">
              {t("models.maybeTwice", { count: data.openFiles, size: format.bytes(data.openBytes) })}
            </span>
            <Button
              size="sm"
              busy={compare.isPending}
              onClick={() =>
                compare.mutate(
                  { compare: true },
                  {
                    onSuccess: () => void found.refetch(),
                    onError: ({ fault }) => say(faultTitle(t, fault)),
                  },
                )
              }
            >
              {t("models.compare")}
            </Button>
          </div>
        )
      )}
    </div>
  );
}
