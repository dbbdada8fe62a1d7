import { Popover } from "@base-ui/react/popover";
import { Wrench } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Toggle } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { fieldClass } from "@/components/TextField";
import { cx } from "@/lib/cx";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import type { ToolSettings } from "@/wire/wire";

const OFF: ToolSettings = { on: false, folders: [], allowed: [] };

/** What the models of this conversation may do besides talking. */
export function ToolSwitch({ conversation }: { conversation: string }) {
  const { t } = useTranslation();
  const opened = useAsk("conversations/open", { id: conversation });
  const write = useTell("conversations/setTools");
  const [folder, setFolder] = useState("");
  const now = (write.isPending ? write.variables?.tools : opened.data?.tools) ?? OFF;
  const fault = faultOfResult(write);

  function set(change: Partial<ToolSettings>) {
    write.mutate(
      { id: conversation, tools: { ...now, ...change } },
      { onSuccess: () => void opened.refetch() },
    );
  }

  return (
    <Popover.Root>
      <Popover.Trigger
        aria-label={t("chat.tools.settings")}
        className={cx(
          "flex h-8 items-center gap-1.5 rounded-lg px-2 text-sm hover:bg-pressed/70",
          now.on ? "text-sea-ink" : "text-ink-3",
        )}
      >
        <Wrench size={15} aria-hidden="true" />
        {now.on && <span>{t("chat.tools.on")}</span>}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner side="top" align="start" sideOffset={8} className="z-30">
          <Popover.Popup
            aria-label={t("chat.tools.settings")}
            className="w-96 max-w-[calc(100vw-2rem)] rounded-xl bg-raised p-4 shadow-high outline-hidden"
          >
            <div className="flex items-center justify-between gap-3">
              <p className="text-base font-medium">{t("chat.tools.settings")}</p>
              <Toggle label={t("chat.tools.settings")} checked={now.on} onChange={(on) => set({ on })} />
            </div>
            <p className="mt-1 text-sm text-ink-3">{t("chat.tools.about")}</p>
            <p className="mt-3 text-sm">{t("chat.tools.folders")}</p>
            <ul>
              {now.folders.map((one) => (
                <li key={one} className="flex items-center gap-2 text-sm">
                  <code className="min-w-0 flex-1 font-mono break-all">{one}</code>
                  <Button
                    size="sm"
                    look="quiet"
                    onClick={() => set({ folders: now.folders.filter((other) => other !== one) })}
                  >
                    {t("chat.tools.removeFolder")}
                  </Button>
                </li>
              ))}
            </ul>
            <form
              className="mt-1.5 flex gap-2"
              onSubmit={(event) => {
                event.preventDefault();
                const path = folder.trim();
                if (path === "" || now.folders.includes(path)) return;
                set({ folders: [...now.folders, path] });
                setFolder("");
              }}
            >
              <input
                aria-label={t("chat.tools.folder")}
                placeholder={t("chat.tools.folder")}
                value={folder}
                onChange={(event) => setFolder(event.target.value)}
                className={`${fieldClass} min-w-0 flex-1`}
              />
              <Button type="submit" size="sm" className="h-9" disabled={folder.trim() === ""}>
                {t("chat.tools.addFolder")}
              </Button>
            </form>
            {now.allowed.length > 0 && (
              <div className="mt-3 flex items-center gap-2 text-sm">
                <span className="min-w-0 flex-1 text-ink-2">
                  {t("chat.tools.allowed", {
                    names: now.allowed.map((one) => (one === "*" ? t("chat.tools.all") : one)).join(", "),
                  })}
                </span>
                <Button size="sm" look="quiet" onClick={() => set({ allowed: [] })}>
                  {t("chat.tools.askAgain")}
                </Button>
              </div>
            )}
            {fault && <FaultCard fault={fault} fixes={{}} className="mt-3" />}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
