import { useNavigate } from "@tanstack/react-router";

import type { FixActions } from "@/components/FaultCard";
import { say } from "@/components/Toasts";
import { faultTitle } from "@/i18n/faults";
import { useTell } from "@/state/ask";
import { useView } from "@/state/view";
import { useTranslation } from "react-i18next";

/** What each way on does around a conversation. */
export function useFixes({ model, retry }: { model: string | undefined; retry?: () => void }): FixActions {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const pull = useTell("models/pull");
  const install = useTell("engines/install");
  const showFault = {
    onError: ({ fault }: { fault: Parameters<typeof faultTitle>[1] }) => say(faultTitle(t, fault)),
  };
  const toModels = () => void navigate({ to: "/models", search: model ? { model } : {} });

  return {
    chooseOtherModel: () => useView.setState({ picker: true }),
    chooseSmallerContext: toModels,
    freeSpace: () => void navigate({ to: "/models" }),
    importFile: () => void navigate({ to: "/models" }),
    acceptLicence: toModels,
    addEngine: () => void navigate({ to: "/settings", search: { section: "engines" } }),
    reinstallEngine: () => install.mutate({}, showFault),
    newConversation: () => void navigate({ to: "/" }),
    ...(model ? { downloadAgain: () => pull.mutate({ model, licenceAccepted: false }, showFault) } : {}),
    ...(retry ? { retry, checkConnection: retry } : {}),
  };
}
