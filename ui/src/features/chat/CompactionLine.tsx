import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { useFormat } from "@/i18n/format";
import { faultOfResult, useTell } from "@/state/ask";
import type { CompactionLine as Line } from "@/wire/wire";

import { ArchiveDialog } from "./ArchiveDialog";

/** Stands behind the messages that a summary stands for. They are all still there. */
export function CompactionLine({ conversation, line }: { conversation: string; line: Line }) {
  const { t } = useTranslation();
  const format = useFormat();
  const undo = useTell("context/undo");
  const [shown, setShown] = useState(false);
  const fault = faultOfResult(undo);
  const params = { before: format.count(line.beforeTokens), after: format.count(line.afterTokens) };
  return (
    <div role="note" aria-label={t("context.line")} className="text-sm text-ink-3">
      <div className="flex flex-wrap items-center gap-x-2 border-t border-hairline pt-2">
        <span>
          {line.rows > 0
            ? t("context.summarised", { count: line.rows, ...params })
            : t("context.shortened", { count: line.notes, ...params })}
        </span>
        <Button size="sm" look="quiet" onClick={() => setShown(true)}>
          {t("context.show")}
        </Button>
        <Button
          size="sm"
          look="quiet"
          disabled={undo.isPending}
          onClick={() => undo.mutate({ conversation, id: line.id })}
        >
          {t("context.undo")}
        </Button>
      </div>
      {fault && <FaultCard fault={fault} fixes={{}} className="mt-2" />}
      {shown && (
        <ArchiveDialog
          conversation={conversation}
          id={line.id}
          summary={line.summary}
          onClose={() => setShown(false)}
        />
      )}
    </div>
  );
}
