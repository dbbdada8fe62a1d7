import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Dialog } from "@/components/Dialog";
import { FaultCard } from "@/components/FaultCard";
import { Spinner } from "@/components/Spinner";
import { fieldClass } from "@/components/TextField";
import { useFormat } from "@/i18n/format";
import { faultOfResult, useAsk } from "@/state/ask";
import type { ArchiveRow } from "@/wire/wire";

/** What would be cut now, and what would stay word for word. */
export function KeepDialog({ conversation, onClose }: { conversation: string; onClose: () => void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const asked = useAsk("context/plan", { conversation });
  const fault = faultOfResult(asked);
  const { plan, why, keep } = asked.data ?? {};
  return (
    <Dialog open wide onClose={onClose} title={t("context.whatStays")}>
      {asked.isPending && <Spinner />}
      {fault && <FaultCard fault={fault} fixes={{}} />}
      {plan && (
        <p className="text-base text-ink-2">
          {t("context.plan", {
            rows: format.count(plan.summarise.length),
            notes: format.count(plan.notes.length),
            before: format.count(plan.before),
            after: format.count(plan.after),
          })}
        </p>
      )}
      {why !== undefined && <p className="text-base text-ink-2">{t("context.nothing")}</p>}
      {keep && <Rows rows={keep} />}
    </Dialog>
  );
}

/** What a compaction stands for, word for word, and a search over all that was said. */
export function ArchiveDialog({
  conversation,
  id,
  summary,
  onClose,
}: {
  conversation: string;
  id: string;
  summary: string;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [words, setWords] = useState("");
  const expanded = useAsk("context/expand", { conversation, id });
  const found = useAsk(
    "context/search",
    { conversation, words: words.trim() },
    { enabled: words.trim() !== "", keepLast: true },
  );
  const searching = words.trim() !== "";
  const asked = searching ? found : expanded;
  const fault = faultOfResult(asked);
  return (
    <Dialog open wide onClose={onClose} title={t("context.archive")} about={t("context.archiveAbout")}>
      <input
        type="search"
        aria-label={t("context.search")}
        placeholder={t("context.search")}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        className={`${fieldClass} w-full`}
      />
      {!searching && summary !== "" && (
        <p className="mt-3 rounded-lg bg-pressed/50 p-3 text-base whitespace-pre-wrap">{summary}</p>
      )}
      {fault && <FaultCard fault={fault} fixes={{}} className="mt-3" />}
      {asked.data && <Rows rows={asked.data.rows} />}
      {searching && found.data?.rows.length === 0 && (
        <p className="mt-3 text-sm text-ink-3">{t("context.notFound")}</p>
      )}
    </Dialog>
  );
}

function Rows({ rows }: { rows: ArchiveRow[] }) {
  const { t } = useTranslation();
  return (
    <ul className="mt-3 divide-y divide-hairline">
      {rows.map((row) => (
        <li key={row.id} className="py-2">
          <p className="text-xs text-ink-3">{t(`context.row.${row.kind}`)}</p>
          <p className="text-base break-words whitespace-pre-wrap">{row.text}</p>
        </li>
      ))}
    </ul>
  );
}
