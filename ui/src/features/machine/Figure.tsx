import { Pencil, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button, IconButton } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { TextField } from "@/components/TextField";

import { BY_PERSON, readNumber } from "./overrides";

export interface Setting {
  /** The number of the field for one unit, such as the bytes of a GB. */
  unit: number;
  unitName: string;
  /** The number now, for the field to start with. */
  now?: number;
  about: string;
  onSet: (value: number) => void;
  onBack: () => void;
}

/** One number, where it comes from, what was found when a person changed it, and the way to change it. */
export function Figure({
  name,
  value,
  source,
  found,
  setting,
}: {
  name: string;
  value: string;
  source?: string;
  found?: string;
  setting?: Setting;
}) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState(false);
  const changed = source === BY_PERSON;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
      <dt className="w-40 shrink-0 text-base text-ink-2 max-sm:w-full">{name}</dt>
      <dd className="m-0 flex min-w-0 flex-1 flex-wrap items-center gap-x-3">
        <span className="num min-w-0 flex-1">
          <span className="block text-base break-words">{value}</span>
          {source && (
            <span className="block text-xs text-ink-3">
              {changed ? t("machine.byYou") : t("start.facts.source", { source })}
              {changed && found !== undefined && `, ${t("machine.found", { value: found })}`}
            </span>
          )}
        </span>
        {setting && (
          <span className="flex shrink-0">
            {changed && (
              <IconButton label={t("machine.takeBack", { name })} size="sm" onClick={setting.onBack}>
                <Undo2 size={15} />
              </IconButton>
            )}
            <IconButton label={t("machine.change", { name })} size="sm" onClick={() => setEditing(true)}>
              <Pencil size={15} />
            </IconButton>
          </span>
        )}
      </dd>
      {editing && setting && <Editor name={name} setting={setting} onClose={() => setEditing(false)} />}
    </div>
  );
}

function Editor({ name, setting, onClose }: { name: string; setting: Setting; onClose: () => void }) {
  const { t } = useTranslation();
  const start = setting.now === undefined ? "" : String(Math.round((setting.now / setting.unit) * 10) / 10);
  const [text, setText] = useState(start);
  const value = readNumber(text);
  const save = () => {
    if (value === undefined) return;
    setting.onSet(Math.round(value * setting.unit));
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("machine.change", { name })}
      about={setting.about}
      actions={
        <>
          <Button onClick={onClose}>{t("app.cancel")}</Button>
          <Button look="primary" disabled={value === undefined} onClick={save}>
            {t("machine.use")}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <TextField
          label={`${name} (${setting.unitName})`}
          inputMode="decimal"
          value={text}
          onChange={(event) => setText(event.target.value)}
          aria-invalid={text !== "" && value === undefined}
        />
      </form>
    </Dialog>
  );
}
