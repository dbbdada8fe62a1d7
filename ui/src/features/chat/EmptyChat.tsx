import { BookOpen, CalendarDays, Code2, Mail } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Mark } from "@/components/Mark";
import { useLive } from "@/state/live";
import { useModelName } from "@/state/models";
import { keepDraft, useView } from "@/state/view";

const STARTERS = [
  { icon: BookOpen, title: "chat.starters.explain", text: "chat.starters.explainText" },
  { icon: Mail, title: "chat.starters.write", text: "chat.starters.writeText" },
  { icon: Code2, title: "chat.starters.code", text: "chat.starters.codeText" },
  { icon: CalendarDays, title: "chat.starters.plan", text: "chat.starters.planText" },
] as const;

export function EmptyChat({ model }: { model: string | undefined }) {
  const { t } = useTranslation();
  const name = useModelName(model);
  const firstStart = useLive((live) => live.firstStart);
  return (
    <div className="flex min-h-0 flex-1 flex-col items-center justify-end overflow-y-auto px-4 pt-8 pb-8 sm:justify-center">
      <div className="w-full max-w-[728px]">
        <Mark size={44} className="-ml-0.5 text-ink" />
        <h1 className="mt-4 text-2xl font-semibold">{t("chat.emptyTitle")}</h1>
        <p className="mt-1.5 text-md text-ink-2">
          {name === undefined ? t("chat.emptyNoModel") : t("chat.emptyLocal", { name })}
        </p>
        {name === undefined && (
          <Button
            look="primary"
            size="lg"
            className="mt-5"
            onClick={() => useView.setState({ startSkipped: false, picker: !firstStart })}
          >
            {firstStart ? t("start.title") : t("picker.none")}
          </Button>
        )}
        <ul className="mt-7 grid gap-2 sm:grid-cols-2">
          {STARTERS.map(({ icon: Icon, title, text }) => (
            <li key={title}>
              <button
                type="button"
                onClick={() => {
                  keepDraft("", t(text));
                  document.getElementById("composer")?.focus();
                }}
                className="flex h-full w-full items-start gap-3 rounded-lg bg-raised px-4 py-3 text-left ring-1 ring-hairline transition-colors hover:bg-sunken hover:ring-border"
              >
                <Icon size={17} className="mt-0.5 shrink-0 text-sea-ink" aria-hidden="true" />
                <span className="min-w-0">
                  <span className="block text-base font-medium">{t(title)}</span>
                  <span className="line-clamp-2 block text-sm text-ink-3">{t(text)}</span>
                </span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
