import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";

import { FaultCard } from "@/components/FaultCard";
import { faultOfResult, useAsk } from "@/state/ask";
import type { FoundConversation } from "@/wire/wire";

/** Conversations that hold all of the words, with what stands around them. */
export function SearchResults({ words, onGo }: { words: string; onGo?: () => void }) {
  const { t } = useTranslation();
  const search = useAsk("conversations/search", { words, trash: false }, { keepLast: true });
  const fault = faultOfResult(search);
  const found = search.data?.found ?? [];
  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-2.5 pb-2" aria-busy={search.isFetching || undefined}>
      {fault && <FaultCard fault={fault} fixes={{ retry: () => void search.refetch() }} />}
      <p role="status" className="px-2.5 py-2 text-xs text-ink-3">
        {search.data &&
          (found.length === 0
            ? t("nav.nothingFound", { query: words })
            : t("nav.found", { count: found.length }))}
      </p>
      {found.length > 0 && (
        <ul aria-label={t("nav.results")} className="flex flex-col gap-0.5">
          {found.map((one) => (
            <Result key={one.conversation.id} one={one} {...(onGo ? { onGo } : {})} />
          ))}
        </ul>
      )}
      {search.data?.more && <p className="px-2.5 py-2 text-sm text-ink-3">{t("nav.moreFound")}</p>}
    </div>
  );
}

function Result({ one, onGo }: { one: FoundConversation; onGo?: () => void }) {
  const { t } = useTranslation();
  return (
    <li>
      <Link
        to="/c/$id"
        params={{ id: one.conversation.id }}
        search={one.message === undefined ? {} : { m: one.message }}
        onClick={onGo}
        className="block rounded-md px-2.5 py-1.5 text-sm text-ink-2 no-underline transition-colors hover:bg-pressed/60 data-[status=active]:bg-pressed"
      >
        <span className="block truncate font-medium text-ink">
          {one.conversation.title || t("nav.untitled")}
        </span>
        {one.snippet.length > 0 && (
          <span className="line-clamp-2 text-xs break-words text-ink-3">
            {one.snippet.map((snip, at) =>
              snip.hit ? (
                // oxlint-disable-next-line react/no-array-index-key
                <mark key={at} className="rounded-xs bg-sea-soft text-ink">
                  {snip.text}
                </mark>
              ) : (
                snip.text
              ),
            )}
          </span>
        )}
      </Link>
    </li>
  );
}
