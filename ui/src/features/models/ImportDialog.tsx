import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { FaultCard } from "@/components/FaultCard";
import { TextField } from "@/components/TextField";
import { say } from "@/components/Toasts";
import { useTell } from "@/state/ask";

export function ImportDialog({ onClose, onDone }: { onClose: () => void; onDone?: (id: string) => void }) {
  const { t } = useTranslation();
  const [path, setPath] = useState("");
  const bring = useTell("models/import");
  const go = () =>
    bring.mutate(
      { path: path.trim() },
      {
        onSuccess: (model) => {
          say(t("models.imported", { name: model.name }));
          onClose();
          onDone?.(model.id);
        },
      },
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("models.importTitle")}
      about={t("models.importAbout")}
      actions={
        <>
          <Button onClick={onClose}>{t("app.cancel")}</Button>
          <Button look="primary" busy={bring.isPending} disabled={path.trim() === ""} onClick={go}>
            {t("models.importGo")}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (path.trim() !== "") go();
        }}
      >
        <TextField
          label={t("models.importLabel")}
          placeholder={t("models.importPlaceholder")}
          value={path}
          onChange={(event) => setPath(event.target.value)}
        />
      </form>
      {bring.error && <FaultCard fault={bring.error.fault} fixes={{ retry: go }} className="mt-3" />}
    </Dialog>
  );
}
