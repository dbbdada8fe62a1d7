import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { FaultCard } from "@/components/FaultCard";
import { PageTitle } from "@/components/PageTitle";
import { say } from "@/components/Toasts";
import { useFormat } from "@/i18n/format";
import { faultOfResult, useAsk, useTell } from "@/state/ask";

/** What was deleted, until it is taken back. */
export function TrashPage() {
  const { t } = useTranslation();
  const format = useFormat();
  const list = useAsk("conversations/list", { trash: true });
  const restore = useTell("conversations/restore");
  const empty = useTell("conversations/emptyTrash");
  const [asking, setAsking] = useState(false);
  const fault = faultOfResult(list) ?? faultOfResult(restore) ?? faultOfResult(empty);
  const conversations = list.data?.conversations ?? [];
  return (
    <div className="h-full overflow-y-auto">
      <div className="mx-auto w-full max-w-[760px] px-5 py-8">
        <div className="flex items-center justify-between gap-3">
          <PageTitle>{t("nav.trash")}</PageTitle>
          {conversations.length > 0 && (
            <Button size="sm" onClick={() => setAsking(true)}>
              {t("nav.emptyTrash")}
            </Button>
          )}
        </div>
        <p className="mt-1 text-base text-ink-2">
          {conversations.length === 0 ? t("nav.trashEmpty") : t("nav.trashAbout")}
        </p>
        {fault && <FaultCard fault={fault} className="mt-4" fixes={{ retry: () => void list.refetch() }} />}
        <ul className="mt-5 divide-y divide-hairline">
          {conversations.map((one) => {
            const title = one.title || t("nav.untitled");
            return (
              <li key={one.id} className="flex items-center gap-3 py-2.5">
                <div className="min-w-0 flex-1">
                  <p className="truncate text-base font-medium">{title}</p>
                  {one.deletedAt !== undefined && (
                    <p className="text-sm text-ink-3">
                      {t("nav.deletedOn", { when: format.date(one.deletedAt) })}
                    </p>
                  )}
                </div>
                <Button
                  size="sm"
                  onClick={() =>
                    restore.mutate({ id: one.id }, { onSuccess: () => say(t("nav.restored", { title })) })
                  }
                >
                  <RotateCcw size={14} aria-hidden="true" />
                  {t("nav.restore")}
                </Button>
              </li>
            );
          })}
        </ul>
      </div>
      <Dialog
        open={asking}
        onClose={() => setAsking(false)}
        title={t("nav.emptyTitle", { count: conversations.length })}
        about={t("nav.emptyAbout")}
        actions={
          <>
            <Button onClick={() => setAsking(false)}>{t("app.cancel")}</Button>
            <Button
              look="danger"
              busy={empty.isPending}
              onClick={() =>
                empty.mutate(
                  {},
                  {
                    onSuccess: ({ conversations: count }) => {
                      setAsking(false);
                      void list.refetch();
                      say(t("nav.emptied", { count }));
                    },
                  },
                )
              }
            >
              {t("nav.emptyGo")}
            </Button>
          </>
        }
      />
    </div>
  );
}
