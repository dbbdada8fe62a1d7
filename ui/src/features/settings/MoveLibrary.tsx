import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { PathDialog } from "@/components/PathDialog";
import { say } from "@/components/Toasts";
import { faultTitle } from "@/i18n/faults";
import { useFormat } from "@/i18n/format";
import { faultOfResult, useTell } from "@/state/ask";
import { isActive, MOVE, useLive } from "@/state/live";
import type { Fault } from "@/wire/wire";

/** Asks where to, and begins. */
export function MoveDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const move = useTell("folders/move");
  return (
    <PathDialog
      title={t("settings.moveTitle")}
      about={t("settings.moveAbout")}
      label={t("settings.moveLabel")}
      placeholder={t("settings.movePlaceholder")}
      go={t("settings.moveGo")}
      busy={move.isPending}
      fault={faultOfResult(move)}
      onClose={onClose}
      onGo={(path) => move.mutate({ path }, { onSuccess: onClose })}
    />
  );
}

/** How far the move is, and the ways on when it stands still. */
export function Moving({ to }: { to: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const transfer = useLive((live) => live.transfers[MOVE]);
  const move = useTell("folders/move");
  const stop = useTell("models/stopPull");
  const cancel = useTell("models/cancelPull");
  const [given, setGiven] = useState(false);
  const tell = { onError: ({ fault }: { fault: Fault }) => say(faultTitle(t, fault)) };
  const resume = () => move.mutate({ path: to }, tell);
  if (given) return null;
  if (transfer && isActive(transfer)) {
    const [part, whole] = format.pair(transfer.doneBytes, transfer.totalBytes);
    return (
      <div className="num px-4 py-3">
        <div className="mb-1.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
          <span className="min-w-0 flex-1 break-words">{t("settings.moving", { path: to })}</span>
          <span className="text-ink-2">
            {transfer.state === "checking" ? t("models.checking") : t("settings.movingOf", { part, whole })}
            {transfer.secondsLeft !== undefined &&
              ` · ${t("models.left", { time: format.seconds(transfer.secondsLeft) })}`}
          </span>
          <Button size="sm" onClick={() => stop.mutate({ id: MOVE }, tell)}>
            {t("models.stop")}
          </Button>
        </div>
        <Bar
          label={t("settings.moving", { path: to })}
          value={transfer.totalBytes === 0 ? undefined : transfer.doneBytes / transfer.totalBytes}
        />
      </div>
    );
  }
  return (
    <div className="px-4 py-3">
      <p className="text-base break-words">{t("settings.moveStopped", { path: to })}</p>
      {transfer?.fault && <FaultCard fault={transfer.fault} fixes={{ retry: resume }} className="mt-2" />}
      <div className="mt-2 flex flex-wrap gap-2">
        <Button size="sm" look="primary" busy={move.isPending} onClick={resume}>
          {t("settings.moveResume")}
        </Button>
        <Button
          size="sm"
          look="quiet"
          busy={cancel.isPending}
          onClick={() =>
            cancel.mutate(
              { id: MOVE },
              {
                ...tell,
                onSuccess: () => {
                  setGiven(true);
                  say(t("settings.moveGivenUp"));
                },
              },
            )
          }
        >
          {t("settings.moveGiveUp")}
        </Button>
      </div>
    </div>
  );
}
