import { Checkbox } from "@base-ui/react/checkbox";
import { Check, ExternalLink } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import type { ModelEntry } from "@/wire/wire";

/** Shown before the download of a model whose publisher asks for consent. */
export function LicenceDialog({
  entry,
  onAgree,
  onClose,
}: {
  entry: ModelEntry;
  onAgree: () => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [agreed, setAgreed] = useState(false);
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("start.licenceTitle", { name: entry.name })}
      about={t("start.licenceAbout", { publisher: entry.publisher, licence: entry.licence.name })}
      actions={
        <>
          <Button onClick={onClose}>{t("app.cancel")}</Button>
          <Button look="primary" disabled={!agreed} onClick={onAgree}>
            {t("start.licenceGo")}
          </Button>
        </>
      }
    >
      <a
        href={entry.licence.url}
        target="_blank"
        rel="noreferrer"
        className="inline-flex items-center gap-1.5"
      >
        {t("start.licenceRead")}
        <ExternalLink size={13} aria-hidden="true" />
      </a>
      <p className="mt-0.5 text-xs break-all text-ink-3">{entry.licence.url}</p>
      <label className="mt-4 flex items-center gap-2.5 text-base">
        <Checkbox.Root
          checked={agreed}
          onCheckedChange={setAgreed}
          className="grid size-5 shrink-0 place-items-center rounded-xs bg-raised shadow-[inset_0_0_0_1.5px_var(--control)] data-checked:bg-sea data-checked:shadow-none"
        >
          <Checkbox.Indicator>
            <Check size={14} strokeWidth={3} className="text-on-sea" />
          </Checkbox.Indicator>
        </Checkbox.Root>
        {t("start.licenceAgree")}
      </label>
    </Dialog>
  );
}
