import { Tabs } from "@base-ui/react/tabs";
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

/** Enough to tell two keys apart, too little to use one. */
function masked(key: string): string {
  return `${key.slice(0, 3)}${"•".repeat(12)}`;
}

function Snippets({
  url,
  apiKey,
  shown,
  model,
}: {
  url: string;
  apiKey: string;
  shown: boolean;
  model: string;
}) {
  const { t } = useTranslation();
  const make = (key: string) => ({
    curl: `curl ${url}/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}",
       "messages": [{"role": "user", "content": "Hello"}]}'`,
    python: `from openai import OpenAI

client = OpenAI(base_url="${url}", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    env: `export OPENAI_BASE_URL=${url}
export OPENAI_API_KEY=${key}`,
  });
  const seen = make(shown ? apiKey : masked(apiKey));
  const real = make(apiKey);
  return (
    <div className="px-4 py-3">
      <p className="mb-2 text-base">{t("settings.snippets")}</p>
      <Tabs.Root defaultValue="curl">
        <Tabs.List className="inline-flex gap-0.5 rounded-md bg-pressed/70 p-0.5">
          {(["curl", "python", "env"] as const).map((name) => (
            <Tabs.Tab
              key={name}
              value={name}
              className="h-7 rounded-sm px-3 text-sm text-ink-2 hover:text-ink data-active:bg-lifted data-active:font-medium data-active:text-ink data-active:shadow-low"
            >
              {t(`settings.snippetNames.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {(["curl", "python", "env"] as const).map((name) => (
          <Tabs.Panel key={name} value={name} className="mt-2">
            <div className="flex items-start gap-1 rounded-md bg-(--code-ground) py-1 pr-1 pl-3.5 ring-1 ring-hairline">
              <pre className="m-0 min-w-0 flex-1 overflow-x-auto py-2 font-mono text-xs leading-5">
                {seen[name]}
              </pre>
              <CopyButton label={t("app.copy")} text={() => real[name]} />
            </div>
          </Tabs.Panel>
        ))}
      </Tabs.Root>
    </div>
  );
}
