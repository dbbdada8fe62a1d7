import { Eye, EyeOff } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/Button";
import { Toggle } from "@/components/Choice";
import { CopyButton } from "@/components/CopyButton";
import { FaultCard } from "@/components/FaultCard";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import { useLive } from "@/state/live";

import { Group, Row } from "./Group";
import { masked } from "./programs";
import { Snippets } from "./Snippets";

/** The address that other programs use, its key, and how to try it. */
export function Endpoint({ on, onChange }: { on: boolean; onChange: (on: boolean) => void }) {
  const { t } = useTranslation();
  const endpoint = useAsk("endpoint/read", {});
  const model = useLive((live) => live.defaultModel) ?? "MODEL";
  const [shown, setShown] = useState(false);
  const open = useTell("endpoint/open");
  const failed = on ? endpoint.data?.fault : undefined;
  const fault = faultOfResult(endpoint) ?? faultOfResult(open) ?? failed;
  const again = () => (failed ? open.mutate({}) : void endpoint.refetch());
  const url = endpoint.data?.url;
  const key = endpoint.data?.key ?? "";

  return (
    <Group id="endpoint" title={t("settings.endpoint")} about={t("settings.endpointAbout")}>
      <Row name={t("settings.endpointOn")} about={t("settings.endpointLoopback")}>
        <Toggle label={t("settings.endpointOn")} checked={on} onChange={onChange} />
      </Row>
      {fault && <FaultCard fault={fault} fixes={{ retry: again }} className="m-3" />}
      {url !== undefined && (
        <>
          <Row name={t("settings.endpointUrl")}>
            <code className="font-mono text-sm">{url}</code>
            <CopyButton label={t("settings.copyUrl")} text={() => url} />
          </Row>
          <Row name={t("settings.endpointKey")}>
            <code className="font-mono text-sm break-all">{shown ? key : masked(key)}</code>
            <span className="flex">
              <IconButton
                label={shown ? t("settings.hideKey") : t("settings.showKey")}
                size="sm"
                onClick={() => setShown(!shown)}
              >
                {shown ? <EyeOff size={15} /> : <Eye size={15} />}
              </IconButton>
              <CopyButton label={t("settings.copyKey")} text={() => key} />
            </span>
          </Row>
          <Snippets url={url} apiKey={key} shown={shown} model={model} />
        </>
      )}
    </Group>
  );
}
