import { Popover } from "@base-ui/react/popover";
import { SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Choice } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { fieldClass } from "@/components/TextField";
import { say } from "@/components/Toasts";
import { cx } from "@/lib/cx";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import { useModelName } from "@/state/models";
import { keepTuning, useView } from "@/state/view";
import type { ChatSetting, ChatSettings, ChatSettingsReply } from "@/wire/wire";

const STEPS: Record<ChatSetting, { min: number; max?: number; step: number }> = {
  temperature: { min: 0, max: 2, step: 0.05 },
  topP: { min: 0, max: 1, step: 0.01 },
  topK: { min: 0, step: 1 },
  minP: { min: 0, max: 1, step: 0.01 },
  seed: { min: 0, step: 1 },
  replyMax: { min: 1, step: 1 },
};

const THINKING = {
  none: [],
  switch: ["own", "off", "medium"],
  effort: ["own", "off", "low", "medium", "high"],
} as const;

/** How the model is asked in this conversation; `""` is the one that does not exist yet. */
export function Tuning({ conversation, model }: { conversation: string; model: string }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const waiting = useView((view) => view.tuning);
  const read = useAsk(
    "conversations/settings",
    { model, ...(conversation === "" ? {} : { id: conversation }) },
    { enabled: open || conversation !== "" },
  );
  const own = conversation === "" ? waiting : (read.data?.own ?? {});
  const set = Object.keys(own).length > 0;
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        aria-label={t("chat.tuning.title")}
        className={cx(
          "flex h-8 items-center gap-1.5 rounded-lg px-2 text-sm hover:bg-pressed/70",
          set ? "text-sea-ink" : "text-ink-3",
        )}
      >
        <SlidersHorizontal size={15} aria-hidden="true" />
        {set && <span>{t("chat.tuning.set")}</span>}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner side="top" align="start" sideOffset={8} collisionPadding={8} className="z-30">
          <Popover.Popup
            aria-label={t("chat.tuning.title")}
            className="max-h-[80dvh] w-[26rem] max-w-[calc(100vw-2rem)] overflow-y-auto rounded-xl bg-raised p-4 shadow-high outline-hidden"
          >
            {read.data && (
              <Form
                conversation={conversation}
                model={model}
                reply={{ ...read.data, own }}
                onDone={() => {
                  setOpen(false);
                  void read.refetch();
                }}
              />
            )}
            {read.error && (
              <FaultCard fault={read.error.fault} fixes={{ retry: () => void read.refetch() }} />
            )}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function Form({
  conversation,
  model,
  reply,
  onDone,
}: {
  conversation: string;
  model: string;
  reply: ChatSettingsReply;
  onDone: () => void;
}) {
  const { t } = useTranslation();
  const name = useModelName(model) ?? model;
  const ofConversation = useTell("conversations/setSettings");
  const ofModel = useTell("models/setSettings");
  const [now, setNow] = useState<ChatSettings>(reply.own);
  const fault = faultOfResult(ofConversation) ?? faultOfResult(ofModel);
  const choices = THINKING[reply.thinking];

  function change<K extends keyof ChatSettings>(key: K, value: ChatSettings[K] | undefined) {
    const { [key]: _before, ...rest } = now;
    setNow(value === undefined ? rest : { ...rest, [key]: value });
  }

  function keep() {
    if (conversation === "") {
      keepTuning(now);
      onDone();
    } else {
      ofConversation.mutate({ id: conversation, settings: now }, { onSuccess: onDone });
    }
  }

  function keepForModel() {
    ofModel.mutate(
      { model, settings: { ...reply.model, ...now } },
      {
        onSuccess: () => {
          say(t("chat.tuning.keptFor", { name }));
          keep();
        },
      },
    );
  }

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        keep();
      }}
    >
      <p className="text-base font-medium">{t("chat.tuning.title")}</p>
      <label className="mt-2 block text-sm font-medium" htmlFor="instructions">
        {t("chat.tuning.instructions")}
      </label>
      <textarea
        id="instructions"
        rows={3}
        value={now.instructions ?? ""}
        placeholder={reply.model.instructions ?? t("chat.tuning.instructionsAbout")}
        onChange={(event) =>
          change("instructions", event.target.value === "" ? undefined : event.target.value)
        }
        className="field-sizing-content mt-1 max-h-60 min-h-18 w-full resize-none rounded-md bg-raised px-3 py-2 text-base shadow-[inset_0_0_0_1px_var(--control)] outline-hidden focus-visible:shadow-[inset_0_0_0_2px_var(--focus)]"
      />
      {choices.length > 0 && (
        <div className="mt-3 flex flex-wrap items-center justify-between gap-2">
          <span className="text-sm font-medium">{t("chat.tuning.thinking")}</span>
          <Choice
            label={t("chat.tuning.thinking")}
            value={now.thinking ?? "own"}
            options={choices.map((value) => ({
              value,
              label:
                reply.thinking === "switch" && value === "medium"
                  ? t("chat.tuning.thinkings.on")
                  : t(`chat.tuning.thinkings.${value}`),
            }))}
            onChange={(value) => change("thinking", value === "own" ? undefined : value)}
          />
        </div>
      )}
      <div className="mt-3 grid grid-cols-2 gap-x-3 gap-y-2">
        {reply.takes.map((key) => (
          <NumberField
            key={key}
            name={key}
            value={now[key]}
            usual={reply.model[key] ?? reply.advice[key]}
            onChange={(value) => change(key, value)}
          />
        ))}
      </div>
      {fault && <FaultCard fault={fault} fixes={{}} className="mt-3" />}
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <Button size="sm" look="quiet" onClick={() => setNow({})}>
          {t("chat.tuning.reset")}
        </Button>
        <Button size="sm" onClick={keepForModel} busy={ofModel.isPending}>
          {t("chat.tuning.forModel", { name })}
        </Button>
        <Button size="sm" type="submit" look="primary" busy={ofConversation.isPending}>
          {t("chat.tuning.forThis")}
        </Button>
      </div>
    </form>
  );
}

function NumberField({
  name,
  value,
  usual,
  onChange,
}: {
  name: ChatSetting;
  value: number | undefined;
  usual: number | undefined;
  onChange: (value: number | undefined) => void;
}) {
  const { t } = useTranslation();
  return (
    <label className="flex flex-col gap-1 text-sm">
      <span>{t(`chat.tuning.fields.${name}`)}</span>
      <input
        type="number"
        inputMode="decimal"
        {...STEPS[name]}
        value={value ?? ""}
        placeholder={usual === undefined ? t("chat.tuning.ownOf") : String(usual)}
        onChange={(event) => {
          const number = event.target.valueAsNumber;
          onChange(Number.isNaN(number) ? undefined : number);
        }}
        className={`${fieldClass} num`}
      />
    </label>
  );
}
