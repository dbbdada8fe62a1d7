import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { fieldClass } from "@/components/TextField";
import { say } from "@/components/Toasts";
import { faultOfResult, useAsk, useTell } from "@/state/ask";

import { Group, Row } from "./Group";

/** What can be sent in a header: no spaces, nothing beyond ASCII. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Where models come from, and the token for those whose terms have to be accepted there. `wanted` is set when a
 * fault led here: the field is ready to be filled, and the way back is offered afterwards.
 */
export function HubSite({ wanted }: { wanted: boolean }) {
  const { t } = useTranslation();
  const site = useAsk("hub/read", {});
  const keep = useTell("hub/setToken");
  const [token, setToken] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const hub = keep.data ?? site.data;
  const fault = faultOfResult(site) ?? faultOfResult(keep);
  const typed = token.trim();

  const ready = hub !== undefined && hub.token !== "environment";
  useEffect(() => {
    if (wanted && ready) field.current?.focus({ preventScroll: true });
  }, [wanted, ready]);

  function set(next: string) {
    keep.mutate(
      { token: next },
      {
        onSuccess: () => {
          setToken("");
          const back = { label: t("app.back"), run: () => window.history.back() };
          if (next === "") say(t("settings.hubTokenRemoved"));
          else say(t("settings.hubTokenSaved"), wanted ? back : undefined);
        },
      },
    );
  }

  return (
    <Group id="hub" title={t("settings.hub")} about={t("settings.hubAbout")}>
      {hub && (
        <>
          <Row name={t("settings.hubUrl")} {...(hub.offline ? { about: t("settings.hubOffline") } : {})}>
            <code className="font-mono text-sm break-all">{hub.url}</code>
          </Row>
          <div className="px-4 py-3">
            <p className="text-base">{t("settings.hubToken")}</p>
            <p className="text-sm text-ink-3">
              {t(`settings.hubTokenFrom.${hub.token}`, { file: hub.tokenFile ?? "" })}
            </p>
            {hub.token !== "environment" && hub.tokenFile !== undefined && (
              <form
                className="mt-2.5 flex flex-wrap gap-2"
                onSubmit={(event) => {
                  event.preventDefault();
                  if (TOKEN.test(typed) && !keep.isPending) set(typed);
                }}
              >
                <input
                  ref={field}
                  type="password"
                  aria-label={t("settings.hubToken")}
                  placeholder="hf_…"
                  autoComplete="off"
                  spellCheck={false}
                  value={token}
                  onChange={(event) => setToken(event.target.value)}
                  className={`${fieldClass} max-w-96 min-w-48 flex-1`}
                />
                <Button type="submit" className="h-9" busy={keep.isPending} disabled={!TOKEN.test(typed)}>
                  {t("settings.hubTokenSave")}
                </Button>
                {hub.token === "file" && (
                  <Button look="quiet" className="h-9" disabled={keep.isPending} onClick={() => set("")}>
                    {t("settings.hubTokenRemove")}
                  </Button>
                )}
              </form>
            )}
          </div>
        </>
      )}
      {fault && <FaultCard fault={fault} fixes={{ retry: () => void site.refetch() }} className="m-3" />}
    </Group>
  );
}
