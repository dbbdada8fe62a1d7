import { useState } from "react";
import { useTranslation } from "react-i18next";

import { FaultCard } from "@/components/FaultCard";
import { Mark } from "@/components/Mark";
import { ImportDialog } from "@/features/models/ImportDialog";
import { faultOfResult, useAsk, useHost } from "@/state/ask";
import { seedLive, useLive } from "@/state/live";
import { useView } from "@/state/view";

import { Offer } from "./Offer";
import { SettingUp } from "./SettingUp";

/** The model that will be set up, chosen by us or by the person. */
export interface Wanted {
  model: string;
  quant: string;
}

/** From nothing to a model that answers, with one button. */
export function FirstStart() {
  const { t } = useTranslation();
  const host = useHost();
  const setup = useLive((live) => live.setup);
  const [wanted, setWanted] = useState<Wanted>();
  /** Went back to choose again, although a setup has begun. */
  const [choosing, setChoosing] = useState(false);
  const [importing, setImporting] = useState(false);
  const recommendation = useAsk("plan/recommend", {});
  const machine = useAsk("machine/read", { fresh: false });
  const library = useAsk("models/list", {});
  const fault = faultOfResult(machine) ?? faultOfResult(recommendation) ?? faultOfResult(library);

  async function finish() {
    try {
      seedLive(await host.call("status/read", {}));
    } finally {
      // What was set up is there, whatever the status says: the way to the chat is open.
      useView.setState({ startSkipped: true });
    }
  }

  return (
    <main className="min-h-0 flex-1 overflow-y-auto" aria-label={t("start.title")}>
      <div className="mx-auto flex min-h-full w-full max-w-[920px] flex-col px-5 py-6 sm:px-8">
        <header className="flex items-center gap-2.5">
          <Mark size={26} />
          <span className="text-md font-semibold">{t("app.name")}</span>
        </header>
        <div className="flex flex-1 flex-col justify-center py-6">
          {fault ? (
            <FaultCard
              fault={fault}
              fixes={{
                retry: () => {
                  void machine.refetch();
                  void recommendation.refetch();
                  void library.refetch();
                },
              }}
            />
          ) : setup && !choosing ? (
            <SettingUp
              setup={setup}
              machine={machine.data}
              library={library.data}
              onOther={() => setChoosing(true)}
              onReady={() => void finish()}
            />
          ) : machine.data && recommendation.data && library.data ? (
            <Offer
              machine={machine.data}
              recommendation={recommendation.data}
              library={library.data}
              wanted={wanted}
              onWant={setWanted}
              onImport={() => setImporting(true)}
              onStarted={() => setChoosing(false)}
            />
          ) : (
            <div className="flex flex-col items-center gap-4 text-center">
              <Mark size={44} className="breathe text-ink-3" />
              <p className="text-lg font-semibold">{t("start.reading")}</p>
              <p className="text-ink-2">{t("start.readingAbout")}</p>
            </div>
          )}
        </div>
      </div>
      {importing && (
        <ImportDialog
          onClose={() => setImporting(false)}
          onDone={(id) => {
            const [model = id, quant = ""] = id.split(":");
            setWanted({ model, quant });
          }}
        />
      )}
    </main>
  );
}
