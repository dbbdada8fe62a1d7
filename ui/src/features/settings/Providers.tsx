import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Choice } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { Fold } from "@/components/Fold";
import { fieldClass } from "@/components/TextField";
import { say } from "@/components/Toasts";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import type { KeyPlace, ProviderEntry, ProviderProtocol } from "@/wire/wire";

import { Group } from "./Group";

/** What can be sent in a header: no spaces, nothing beyond ASCII. */
const KEY = /^[\x21-\x7e]+$/;

const PATHS: Record<ProviderProtocol, string> = {
  openaiChat: "/chat/completions",
  openaiResponses: "/responses",
  anthropicMessages: "/messages",
};

/** Who else can answer: keys, the models that the picker offers, and endpoints of the person's own. */
export function Providers() {
  const { t } = useTranslation();
  const list = useAsk("providers/list", {});
  const fault = faultOfResult(list);
  const entries = list.data?.providers ?? [];
  return (
    <Group id="providers" title={t("settings.providers")} about={t("settings.providersAbout")}>
      {entries.map((one) => (
        <Provider key={one.id} entry={one} place={list.data?.keysIn ?? "memory"} />
      ))}
      <NewEndpoint />
      {fault && <FaultCard fault={fault} fixes={{ retry: () => void list.refetch() }} className="m-3" />}
    </Group>
  );
}

function Provider({ entry, place }: { entry: ProviderEntry; place: KeyPlace }) {
  const { t } = useTranslation();
  const setKey = useTell("providers/setKey");
  const choose = useTell("providers/choose");
  const remove = useTell("providers/remove");
  const test = useTell("providers/models");
  const [key, setTyped] = useState("");
  const [search, setSearch] = useState("");
  const typed = key.trim();
  const chosen = entry.models.map((model) => model.name);
  const found = test.data?.models ?? [];
  const shown = [...new Set([...chosen, ...found])]
    .filter((model) => model.toLowerCase().includes(search.trim().toLowerCase()))
    .slice(0, 40);
  const fault = [setKey, choose, remove, test].map(faultOfResult).find((one) => one !== undefined);
  const usable = entry.key !== "nowhere" || entry.keyOptional;

  function keep(next: string) {
    setKey.mutate(
      { id: entry.id, key: next },
      {
        onSuccess: () => {
          setTyped("");
          say(next === "" ? t("settings.keyRemoved") : t("settings.keySaved"));
        },
      },
    );
  }

  function toggle(model: string) {
    const models = chosen.includes(model) ? chosen.filter((one) => one !== model) : [...chosen, model];
    choose.mutate({ id: entry.id, models });
  }

  return (
    <div className="px-4 py-2.5">
      <Fold
        label={
          <span className="flex flex-wrap gap-x-3 text-base">
            <span>{entry.name}</span>
            <span className="text-sm text-ink-3">
              {entry.key === "nowhere" && entry.keyOptional
                ? entry.baseUrl
                : t(`settings.keyFrom.${entry.key}`, { variable: entry.keyVariable ?? "" })}
            </span>
            {chosen.length > 0 && (
              <span className="text-sm text-ink-3">{t("settings.modelsChosen", { n: chosen.length })}</span>
            )}
          </span>
        }
      >
        <div className="flex flex-col gap-3 pt-2 pb-1.5">
          <p className="text-sm text-ink-3">
            <code className="font-mono break-all">
              {entry.baseUrl}
              {PATHS[entry.protocol]}
            </code>
            <br />
            {entry.ownServer ? t("settings.ownServer") : t("settings.leaves")}{" "}
            {place === "memory" && entry.key !== "environment" ? t("settings.keysInMemory") : ""}
          </p>
          <form
            className="flex flex-wrap gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              if (KEY.test(typed) && !setKey.isPending) keep(typed);
            }}
          >
            <input
              type="password"
              aria-label={t("settings.keyOf", { name: entry.name })}
              placeholder={t("settings.key")}
              autoComplete="off"
              spellCheck={false}
              value={key}
              onChange={(event) => setTyped(event.target.value)}
              className={`${fieldClass} max-w-96 min-w-48 flex-1`}
            />
            <Button type="submit" className="h-9" busy={setKey.isPending} disabled={!KEY.test(typed)}>
              {t("settings.keySave")}
            </Button>
            {(entry.key === "keyring" || entry.key === "memory") && (
              <Button look="quiet" className="h-9" disabled={setKey.isPending} onClick={() => keep("")}>
                {t("settings.keyRemove")}
              </Button>
            )}
          </form>
          <div className="flex flex-wrap items-center gap-2">
            <Button
              className="h-9"
              busy={test.isPending}
              disabled={!usable}
              onClick={() => test.mutate({ id: entry.id })}
            >
              {t("settings.testProvider")}
            </Button>
            {test.data && (
              <span role="status" className="text-sm text-ink-2">
                {t("settings.testAnswered", { n: found.length })}
              </span>
            )}
            {entry.custom && (
              <Button
                look="quiet"
                className="h-9"
                busy={remove.isPending}
                onClick={() => remove.mutate({ id: entry.id })}
              >
                {t("settings.removeEndpoint")}
              </Button>
            )}
          </div>
          {(found.length > 0 || chosen.length > 0) && (
            <fieldset className="flex flex-col gap-1.5">
              <legend className="mb-1 text-sm text-ink-2">
                {t("settings.modelsFor", { name: entry.name })}
              </legend>
              {found.length > 8 && (
                <input
                  type="search"
                  aria-label={t("settings.searchModels")}
                  placeholder={t("settings.searchModels")}
                  value={search}
                  onChange={(event) => setSearch(event.target.value)}
                  className={`${fieldClass} max-w-96`}
                />
              )}
              {shown.map((model) => (
                <label key={model} className="flex items-center gap-2 text-sm">
                  <input type="checkbox" checked={chosen.includes(model)} onChange={() => toggle(model)} />
                  <span className="break-all">{model}</span>
                </label>
              ))}
            </fieldset>
          )}
          {fault && (
            <FaultCard
              fault={fault}
              fixes={{
                retry: () => test.mutate({ id: entry.id }),
                checkConnection: () => test.mutate({ id: entry.id }),
              }}
            />
          )}
        </div>
      </Fold>
    </div>
  );
}

/** Three fields: a name, an address, what is spoken there. */
function NewEndpoint() {
  const { t } = useTranslation();
  const save = useTell("providers/save");
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [protocol, setProtocol] = useState<ProviderProtocol>("openaiChat");
  const ready = name.trim() !== "" && /^https?:\/\/\S+$/.test(url.trim());
  const fault = faultOfResult(save);
  return (
    <div className="px-4 py-2.5">
      <Fold label={<span className="text-base">{t("settings.addEndpoint")}</span>}>
        <form
          className="flex flex-col items-start gap-2.5 pt-2 pb-1.5"
          onSubmit={(event) => {
            event.preventDefault();
            if (!ready || save.isPending) return;
            save.mutate(
              { name: name.trim(), baseUrl: url.trim(), protocol },
              {
                onSuccess: () => {
                  setName("");
                  setUrl("");
                  say(t("settings.endpointAdded"));
                },
              },
            );
          }}
        >
          <input
            aria-label={t("settings.endpointName")}
            placeholder={t("settings.endpointName")}
            value={name}
            onChange={(event) => setName(event.target.value)}
            className={`${fieldClass} w-full max-w-96`}
          />
          <input
            type="url"
            aria-label={t("settings.endpointBase")}
            placeholder="https://example.com/v1"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
            className={`${fieldClass} w-full max-w-96`}
          />
          <Choice
            label={t("settings.protocol")}
            value={protocol}
            options={(["openaiChat", "openaiResponses", "anthropicMessages"] as const).map((value) => ({
              value,
              label: t(`settings.protocols.${value}`),
            }))}
            onChange={setProtocol}
          />
          <Button type="submit" className="h-9" busy={save.isPending} disabled={!ready}>
            {t("settings.endpointSave")}
          </Button>
          {fault && <FaultCard fault={fault} fixes={{}} />}
        </form>
      </Fold>
    </div>
  );
}
