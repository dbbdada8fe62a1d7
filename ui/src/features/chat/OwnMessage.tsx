import { Pencil } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button, IconButton } from "@/components/Button";
import { CopyButton } from "@/components/CopyButton";
import type { Message } from "@/wire/wire";

import { BranchNav } from "./BranchNav";
import type { MessageActions } from "./MessageView";

/** What the person wrote; it can be asked differently, and the old way stays. */
export function OwnMessage({ message, actions }: { message: Message; actions: MessageActions }) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState(false);
  if (editing && actions.edit) {
    return <Editor message={message} onEdit={actions.edit} onClose={() => setEditing(false)} />;
  }
  return (
    <article
      id={`message-${message.id}`}
      aria-label={t("chat.you")}
      className="message group/own flex flex-col items-end pl-10"
    >
      <p className="max-w-full rounded-xl rounded-br-sm bg-sea-soft px-4 py-2.5 text-md break-words whitespace-pre-wrap">
        {message.text}
      </p>
      <div className="mt-1 -mb-3 flex min-h-7 items-center">
        <span className="flex opacity-0 transition-opacity group-focus-within/own:opacity-100 group-hover/own:opacity-100">
          <CopyButton label={t("chat.copyMessage")} text={() => message.text} />
          {actions.edit && (
            <IconButton label={t("chat.edit")} size="sm" onClick={() => setEditing(true)}>
              <Pencil size={14} className="text-ink-3" />
            </IconButton>
          )}
        </span>
        {message.branch && <BranchNav branch={message.branch} onShow={actions.show} />}
      </div>
    </article>
  );
}

function Editor({
  message,
  onEdit,
  onClose,
}: {
  message: Message;
  onEdit: (message: string, text: string) => Promise<boolean>;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [text, setText] = useState(message.text);
  const [busy, setBusy] = useState(false);
  const may = text.trim() !== "" && text.trim() !== message.text;

  async function send() {
    if (!may || busy) return;
    setBusy(true);
    const taken = await onEdit(message.id, text.trim());
    setBusy(false);
    if (taken) onClose();
  }

  return (
    <article aria-label={t("chat.you")} className="message flex flex-col items-end gap-2 pl-10">
      <textarea
        aria-label={t("chat.editLabel")}
        value={text}
        rows={2}
        // The person asked for this field a moment ago.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            onClose();
          }
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            void send();
          }
        }}
        className="field-sizing-content max-h-[50dvh] w-full resize-none rounded-xl bg-raised px-4 py-2.5 text-md shadow-[inset_0_0_0_2px_var(--focus)] outline-hidden"
      />
      <p className="w-full text-sm text-ink-3">{t("chat.editAbout")}</p>
      <div className="flex gap-2">
        <Button size="sm" onClick={onClose}>
          {t("app.cancel")}
        </Button>
        <Button size="sm" look="primary" disabled={!may} busy={busy} onClick={() => void send()}>
          {t("chat.send")}
        </Button>
      </div>
    </article>
  );
}
