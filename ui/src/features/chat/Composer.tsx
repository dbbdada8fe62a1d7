import { ArrowUp, ChevronsUpDown, Square } from "lucide-react";
import { useEffect, useLayoutEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import { shortcutText } from "@/app/shortcuts";
import { IconButton } from "@/components/Button";
import { FitDot } from "@/features/picker/pills";
import { cx } from "@/lib/cx";
import { routerModels, useLive } from "@/state/live";
import { useModelName, useShelves } from "@/state/models";
import { keepDraft, useView } from "@/state/view";

import { ToolSwitch } from "./ToolSwitch";
import { Tuning } from "./Tuning";

const GROWS_BY_ITSELF = globalThis.CSS?.supports?.("field-sizing", "content") ?? true;

interface ComposerProps {
  conversation: string;
  model: string | undefined;
  busy: boolean;
  answering: boolean;
  /** Says whether it was taken; the words stay when it was not. */
  onSend: (text: string) => Promise<boolean>;
  onStop?: () => void;
}

export function Composer({ conversation, model, busy, answering, onSend, onStop }: ComposerProps) {
  const { t } = useTranslation();
  const draft = useView((view) => view.drafts[conversation] ?? "");
  const field = useRef<HTMLTextAreaElement>(null);
  const status = useLive((live) => routerModels(live.router).find((one) => one.id === model)?.status);
  const canSend = draft.trim() !== "" && !busy && !answering && model !== undefined;

  useEffect(() => {
    field.current?.focus({ preventScroll: true });
  }, []);

  // The style sheet lets the field grow with its words; web views that cannot do that yet are helped.
  useLayoutEffect(() => {
    const area = field.current;
    if (!area || GROWS_BY_ITSELF) return;
    area.style.height = "auto";
    // An empty field is as high as one line.
    area.style.height = draft === "" ? "" : `${area.scrollHeight}px`;
  }, [draft]);

  useEffect(() => {
    if (!answering || !onStop) return;
    function press(event: KeyboardEvent) {
      // An open dialog, menu or picker has the first right to Esc.
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (document.querySelector("[role=dialog], [role=menu]")) return;
      onStop?.();
    }
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [answering, onStop]);

  function send() {
    if (!canSend) return;
    const text = draft.trim();
    keepDraft(conversation, "");
    void onSend(text).then((taken) => {
      if (!taken) keepDraft(conversation, text);
    });
    field.current?.focus();
  }

  return (
    <div
      className={cx(
        "rounded-xl bg-raised shadow-low ring-1 ring-border transition-shadow",
        "focus-within:ring-control focus-within:shadow-high",
      )}
    >
      <textarea
        ref={field}
        id="composer"
        rows={1}
        value={draft}
        aria-label={t("chat.message")}
        aria-describedby="composer-hint"
        placeholder={
          status === "loading" || status === "proving" ? t("chat.placeholderLoading") : t("chat.placeholder")
        }
        onChange={(event) => keepDraft(conversation, event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            send();
          }
        }}
        className="field-sizing-content block max-h-[38dvh] min-h-12 w-full resize-none bg-transparent px-4 pt-3 pb-1 text-md outline-hidden"
      />
      <div className="flex items-center gap-1 pr-2 pb-2 pl-2">
        <ModelButton model={model} />
        {conversation !== "" && <ToolSwitch conversation={conversation} />}
        {model !== undefined && <Tuning key={model} conversation={conversation} model={model} />}
        <span id="composer-hint" className="sr-only">
          {t("chat.hint")}
        </span>
        <span className="flex-1" />
        {answering && onStop ? (
          <IconButton
            label={`${t("chat.stop")} (${t("chat.stopHint")})`}
            look="primary"
            className="rounded-lg"
            onClick={onStop}
          >
            <Square size={13} fill="currentColor" />
          </IconButton>
        ) : (
          <IconButton
            label={t("chat.send")}
            look="primary"
            className="rounded-lg data-disabled:bg-pressed data-disabled:text-ink-3 data-disabled:opacity-100"
            disabled={!canSend}
            onClick={send}
          >
            <ArrowUp size={17} strokeWidth={2.25} />
          </IconButton>
        )}
      </div>
    </div>
  );
}

function ModelButton({ model }: { model: string | undefined }) {
  const { t } = useTranslation();
  const name = useModelName(model);
  const { disk } = useShelves();
  const plan = disk.find((one) => one.id === model)?.plan;
  return (
    <button
      type="button"
      onClick={() => useView.setState({ picker: true })}
      aria-label={name === undefined ? t("picker.none") : t("picker.open", { name })}
      aria-keyshortcuts="Control+K Meta+K"
      title={shortcutText("K")}
      className="flex h-8 min-w-0 items-center gap-2 rounded-lg px-2.5 text-sm text-ink-2 transition-colors hover:bg-pressed/70 hover:text-ink"
    >
      {plan && <FitDot plan={plan} />}
      <span className="truncate">{name ?? t("picker.none")}</span>
      <ChevronsUpDown size={13} className="shrink-0 text-ink-3" aria-hidden="true" />
    </button>
  );
}
