import { useNavigate } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";

import { faultAbout, faultFacts, faultReport, faultTitle, fixText } from "@/i18n/faults";
import { copyText } from "@/lib/copy";
import { cx } from "@/lib/cx";
import { useLive } from "@/state/live";
import type { Fault, Fix } from "@/wire/wire";

import { Button } from "./Button";
import { Fold } from "./Fold";
import { say } from "./Toasts";

export type FixActions = Partial<Record<Fix, () => void>>;

const NAMES = ["file", "path", "repo", "host", "engine", "option", "architecture", "setting", "provider"];

/** What went wrong, what it means, and the ways on as buttons. */
export function FaultCard({
  fault,
  fixes,
  className,
}: {
  fault: Fault;
  /** What each way on does here; ways without an action are left out. */
  fixes: FixActions;
  className?: string;
}) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const toSettings = (section: string) => () => void navigate({ to: "/settings", search: { section } });
  const version = useLive((live) => live.version);
  const report = () => {
    void copyText(faultReport(fault, version)).then((done) =>
      say(done ? t("app.copied") : t("app.copyFailed")),
    );
  };
  const known: FixActions = {
    reportBug: report,
    updateApp: toSettings("aboutApp"),
    setToken: toSettings("hub"),
    setKey: toSettings("providers"),
    // Where something can be tried again, it can be after a look at the line as well.
    ...(fixes.retry ? { checkConnection: fixes.retry } : {}),
    ...fixes,
  };
  const offered = fault.fixes.filter(
    (fix) => known[fix] !== undefined && !(fix === "retry" && fault.fixes.includes("checkConnection")),
  );
  const facts = faultFacts(fault);
  // Which one it was belongs beside the sentence, not under a fold.
  const named = NAMES.flatMap((name) => {
    const value = fault.params[name];
    return typeof value === "string" && value !== "" ? [value] : [];
  }).join(" · ");

  return (
    <section
      role="alert"
      aria-label={faultTitle(t, fault)}
      className={cx("rounded-lg bg-bad-soft px-4 py-3.5 text-base", className)}
    >
      <div className="flex gap-3">
        <TriangleAlert size={18} className="mt-px shrink-0 text-bad-ink" aria-hidden="true" />
        <div className="min-w-0 flex-1">
          <p className="font-semibold text-bad-ink">{faultTitle(t, fault)}</p>
          <p className="mt-0.5 text-ink">{faultAbout(t, fault)}</p>
          {named !== "" && <p className="mt-1 font-mono text-xs break-words text-ink-2">{named}</p>}
          {offered.length > 0 && (
            <div className="mt-3 flex flex-wrap gap-2">
              {offered.map((fix, index) => (
                <Button key={fix} size="sm" look={index === 0 ? "primary" : "plain"} onClick={known[fix]}>
                  {t(fixText[fix])}
                </Button>
              ))}
            </div>
          )}
          <Fold label={t("faultWith.detailsTitle")} className="mt-2.5">
            <div className="mt-1 max-h-48 overflow-auto rounded-md bg-raised/70 p-3 font-mono text-xs break-words whitespace-pre-wrap text-ink-2">
              {/* What to search for, in whatever language the sentence is. */}
              <div>{fault.code}</div>
              {facts.map(([name, value]) => (
                <div key={name}>
                  {name}: {String(value)}
                </div>
              ))}
              {fault.trace.map((line) => (
                <div key={line}>{line}</div>
              ))}
            </div>
          </Fold>
        </div>
      </div>
    </section>
  );
}
