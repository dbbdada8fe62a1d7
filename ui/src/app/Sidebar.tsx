import { Link, useNavigate } from "@tanstack/react-router";
import { Boxes, Cpu, Search, Settings2, SquarePen, Trash2, X } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/Button";
import { Mark } from "@/components/Mark";
import { useAsk } from "@/state/ask";

import { ConversationList } from "./ConversationList";
import { SearchResults } from "./SearchResults";
import { shortcutText } from "./shortcuts";

const navClass =
  "flex h-(--row) items-center gap-2.5 rounded-md px-2.5 text-sm text-ink-2 no-underline transition-colors hover:bg-pressed/70 hover:text-ink data-[status=active]:bg-pressed data-[status=active]:font-medium data-[status=active]:text-ink";

export function Sidebar({ onGo }: { onGo?: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [query, setQuery] = useState("");
  const wanted = useDeferredValue(query.trim());
  const list = useAsk("conversations/list", { trash: false });
  const conversations = list.data?.conversations ?? [];

  return (
    <nav aria-label={t("nav.main")} className="flex h-full flex-col">
      <div className="flex h-14 items-center gap-2.5 pr-2.5 pl-4">
        <Mark size={24} />
        <span className="flex-1 text-md font-semibold tracking-tight">{t("app.name")}</span>
        <IconButton
          label={`${t("nav.newChat")} (${shortcutText("N")})`}
          side="bottom"
          onClick={() => {
            void navigate({ to: "/" });
            onGo?.();
          }}
        >
          <SquarePen size={17} />
        </IconButton>
      </div>
      <div className="relative mx-2.5 mb-1">
        <Search size={14} className="absolute top-2.5 left-2.5 text-ink-3" aria-hidden="true" />
        <input
          type="search"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setQuery("")}
          placeholder={t("nav.search")}
          aria-label={t("nav.search")}
          className="h-8.5 w-full rounded-md bg-pressed/60 pr-8 pl-8 text-sm outline-hidden focus-visible:bg-raised focus-visible:shadow-[inset_0_0_0_2px_var(--focus)] [&::-webkit-search-cancel-button]:hidden"
        />
        {query !== "" && (
          <IconButton
            label={t("nav.clearSearch")}
            size="sm"
            className="absolute top-0.5 right-0.5"
            onClick={() => setQuery("")}
          >
            <X size={14} />
          </IconButton>
        )}
      </div>
      {wanted === "" ? (
        <ConversationList
          conversations={conversations}
          {...(onGo ? { onGo } : {})}
          empty={list.isPending ? "" : t("nav.noChats")}
        />
      ) : (
        <SearchResults words={wanted} {...(onGo ? { onGo } : {})} />
      )}
      <div className="flex flex-col gap-0.5 border-t border-hairline p-2.5">
        <Link to="/models" className={navClass} onClick={onGo}>
          <Boxes size={16} aria-hidden="true" />
          {t("nav.models")}
        </Link>
        <Link to="/machine" className={navClass} onClick={onGo}>
          <Cpu size={16} aria-hidden="true" />
          {t("nav.machine")}
        </Link>
        <Link to="/trash" className={navClass} onClick={onGo}>
          <Trash2 size={16} aria-hidden="true" />
          {t("nav.trash")}
        </Link>
        <Link to="/settings" className={navClass} onClick={onGo}>
          <Settings2 size={16} aria-hidden="true" />
          {t("nav.settings")}
        </Link>
      </div>
    </nav>
  );
}
