import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";

import { say } from "@/components/Toasts";
import { faultTitle } from "@/i18n/faults";
import { useTell } from "@/state/ask";
import type { Choosable } from "@/state/models";
import type { ModelEntry } from "@/wire/wire";

import { LicenceDialog } from "./LicenceDialog";

/** Starts a download, after the licence where the publisher asks for one. */
export function useAcquire(): { acquire: (model: Choosable) => void; dialog: ReactNode } {
  const { t } = useTranslation();
  const pull = useTell("models/pull");
  const [asking, setAsking] = useState<{ id: string; entry: ModelEntry }>();

  function start(id: string, licenceAccepted: boolean) {
    pull.mutate({ model: id, licenceAccepted }, { onError: ({ fault }) => say(faultTitle(t, fault)) });
  }

  return {
    acquire(model) {
      const licence = model.entry?.licence;
      if (model.entry && licence?.consent && !licence.accepted)
        setAsking({ id: model.id, entry: model.entry });
      else start(model.id, false);
    },
    dialog: asking && (
      <LicenceDialog
        entry={asking.entry}
        onClose={() => setAsking(undefined)}
        onAgree={() => {
          start(asking.id, true);
          setAsking(undefined);
        }}
      />
    ),
  };
}
