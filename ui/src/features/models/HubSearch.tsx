import { useNavigate } from "@tanstack/react-router";
import { Download, Lock, Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { Spinner } from "@/components/Spinner";
import { fieldClass } from "@/components/TextField";
import { useFormat } from "@/i18n/format";
import { cx } from "@/lib/cx";
import { faultOfResult, useAsk } from "@/state/ask";
import type { HubRepo } from "@/wire/wire";

/** More names than these say nothing more in a list. */
const QUANTS_SHOWN = 6;

/** GGUF repositories at the hub by words; one that is chosen opens beside the list. */
export function HubSearch({
  words,
  repo,
  onSearch,
  onOpen,
}: {
  words: string;
  repo: string | undefined;
  onSearch: (words: string) => void;
  onOpen: (repo: string) => void;
}) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [typed, setTyped] = useState(words);
  const site = useAsk("hub/read", {});
  const found = useAsk("hub/search", { words }, { enabled: words !== "" });
  const fault = faultOfResult(found);
  const retry = () => void found.refetch();

  return (
    <section aria-label={t("hub.title")}>
      <form
        role="search"
        className="mt-5 flex gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          onSearch(typed.trim());
        }}
      >
        <div className="relative min-w-0 flex-1">
          <Search size={15} className="absolute top-2.75 left-3 text-ink-3" aria-hidden="true" />
          <input
            type="search"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            placeholder={t("hub.placeholder")}
            aria-label={t("hub.search")}
            className={cx(fieldClass, "w-full pl-9")}
          />
        </div>
        <Button type="submit" className="h-9" busy={found.isFetching} disabled={typed.trim() === ""}>
          {t("hub.go")}
        </Button>
      </form>
      {site.data?.offline ? (
        <p className="mt-5 text-base text-ink-2">{t("settings.hubOffline")}</p>
      ) : (
        words === "" && (
          <p className="mt-5 text-base text-ink-2">{t("hub.about", { url: site.data?.url ?? "" })}</p>
        )
      )}
      {found.isLoading && (
        <p className="mt-5 flex items-center gap-2 text-base text-ink-3" role="status">
          <Spinner size={14} /> {t("hub.searching")}
        </p>
      )}
      {fault && (
        <FaultCard
          fault={fault}
          className="mt-5"
          fixes={{
            retry,
            checkConnection: retry,
            setToken: () => void navigate({ to: "/settings", search: { section: "hub" } }),
          }}
        />
      )}
      {found.data?.repos.length === 0 && (
        <p className="mt-5 text-base text-ink-2">{t("hub.nothing", { words })}</p>
      )}
      <ul className="mt-4 flex flex-col gap-0.5">
        {found.data?.repos.map((one) => (
          <li key={one.id}>
            <RepoCard repo={one} selected={one.id === repo} onOpen={() => onOpen(one.id)} />
          </li>
        ))}
      </ul>
      {found.data?.more && <p className="mt-3 px-3 text-sm text-ink-3">{t("hub.more")}</p>}
    </section>
  );
}

function RepoCard({ repo, selected, onOpen }: { repo: HubRepo; selected: boolean; onOpen: () => void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [owner, name] = repo.id.split("/");
  const quants = repo.quants.slice(0, QUANTS_SHOWN).join(" ");
  return (
    <button
      type="button"
      aria-current={selected || undefined}
      onClick={onOpen}
      className={cx(
        "flex w-full items-start gap-3 rounded-lg px-3 py-2.5 text-left transition-colors focus-visible:-outline-offset-2",
        selected ? "bg-sea-soft" : "hover:bg-sunken",
      )}
    >
      <span className="min-w-0 flex-1">
        <span className="block truncate text-base font-medium">{name ?? repo.id}</span>
        <span className="block truncate text-sm text-ink-2">
          {[name && owner, repo.licence].filter(Boolean).join(" · ")}
        </span>
        <span className="num block truncate text-xs text-ink-3">
          {quants}
          {repo.quants.length > QUANTS_SHOWN &&
            ` ${t("hub.others", { count: repo.quants.length - QUANTS_SHOWN })}`}
        </span>
      </span>
      <span className="num flex shrink-0 flex-col items-end gap-1 pt-0.5 text-xs text-ink-3">
        <span className="flex items-center gap-1">
          <Download size={12} aria-hidden="true" />
          <span className="sr-only">{t("hub.downloads")}</span>
          {format.count(repo.downloads)}
        </span>
        {repo.gate !== "open" && (
          <span className="flex items-center gap-1 text-warn-ink">
            <Lock size={12} aria-hidden="true" />
            {t(`hub.gate.${repo.gate}`)}
          </span>
        )}
      </span>
    </button>
  );
}
