import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Fault } from "@/wire/wire";

import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { FaultCard } from "./FaultCard";
import { TextField } from "./TextField";

/** Asks for one place on disk. What was wrong with it stands under the field, and the same button tries again. */
export function PathDialog({
  title,
  about,
  label,
  placeholder,
  go,
  busy,
  fault,
  onGo,
  onClose,
}: {
  title: string;
  about?: string;
  label: string;
  placeholder: string;
  /** The words on the button. */
  go: string;
  busy: boolean;
  fault: Fault | undefined;
  onGo: (path: string) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [path, setPath] = useState("");
  const wanted = path.trim();
  const submit = () => onGo(wanted);
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      {...(about === undefined ? {} : { about })}
      actions={
        <>
          <Button onClick={onClose}>{t("app.cancel")}</Button>
          <Button look="primary" busy={busy} disabled={wanted === ""} onClick={submit}>
            {go}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted !== "" && !busy) submit();
        }}
      >
        <TextField
          label={label}
          placeholder={placeholder}
          value={path}
          onChange={(event) => setPath(event.target.value)}
        />
      </form>
      {fault && <FaultCard fault={fault} fixes={{ retry: submit }} className="mt-3" />}
    </Dialog>
  );
}
