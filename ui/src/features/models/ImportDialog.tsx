import { useTranslation } from "react-i18next";

import { PathDialog } from "@/components/PathDialog";
import { say } from "@/components/Toasts";
import { faultOfResult, useTell } from "@/state/ask";

export function ImportDialog({ onClose, onDone }: { onClose: () => void; onDone?: (id: string) => void }) {
  const { t } = useTranslation();
  const bring = useTell("models/import");
  return (
    <PathDialog
      title={t("models.importTitle")}
      about={t("models.importAbout")}
      label={t("models.importLabel")}
      placeholder={t("models.importPlaceholder")}
      go={t("models.importGo")}
      busy={bring.isPending}
      fault={faultOfResult(bring)}
      onClose={onClose}
      onGo={(path) =>
        bring.mutate(
          { path },
          {
            onSuccess: (model) => {
              say(t("models.imported", { name: model.name }));
              onClose();
              onDone?.(model.id);
            },
          },
        )
      }
    />
  );
}
