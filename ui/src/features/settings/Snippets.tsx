import { Tabs } from "@base-ui/react/tabs";
import { useTranslation } from "react-i18next";

import { CopyButton } from "@/components/CopyButton";

import { masked, SNIPPETS, snippetsFor } from "./programs";

/** What to put into other programs, each to copy. */
export function Snippets({
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
  const seen = snippetsFor(url, shown ? apiKey : masked(apiKey), model);
  const real = snippetsFor(url, apiKey, model);
  return (
    <div className="px-4 py-3">
      <p className="mb-2 text-base">{t("settings.snippets")}</p>
      <Tabs.Root defaultValue="curl">
        <Tabs.List className="inline-flex max-w-full flex-wrap gap-0.5 rounded-md bg-pressed/70 p-0.5">
          {SNIPPETS.map((name) => (
            <Tabs.Tab
              key={name}
              value={name}
              className="h-7 rounded-sm px-3 text-sm text-ink-2 hover:text-ink data-active:bg-lifted data-active:font-medium data-active:text-ink data-active:shadow-low"
            >
              {t(`settings.snippetNames.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {SNIPPETS.map((name) => (
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
