import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { FileJson, FileText, MoreHorizontal, Pencil, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/Button";
import { Menu, MenuItem } from "@/components/Menu";
import { say } from "@/components/Toasts";
import { faultTitle } from "@/i18n/faults";
import { type Age, byAge } from "@/lib/age";
import { cx } from "@/lib/cx";
import { useTell } from "@/state/ask";
import { useLive } from "@/state/live";
import type { ConversationSummary } from "@/wire/wire";

type Row = { kind: "age"; age: Age } | { kind: "one"; one: ConversationSummary };

/** Few rows are simply there; only a long history is worth the machinery. */
const VIRTUAL_FROM = 80;

export function ConversationList({
  conversations,
  empty,
  onGo,
}: {
  conversations: readonly ConversationSummary[];
  empty: string;
  onGo?: () => void;
}) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const now = useNow();
  const rows: Row[] = byAge(conversations, now).flatMap(({ age, items }) => [
    { kind: "age" as const, age },
    ...items.map((one) => ({ kind: "one" as const, one })),
  ]);

  const show = (row: Row) =>
    row.kind === "age" ? (
      <div className="flex h-8 items-end px-2.5 pb-1 text-xs font-medium text-ink-3">
        {t(`nav.${row.age}`)}
      </div>
    ) : (
      <ConversationRow one={row.one} {...(onGo ? { onGo } : {})} />
    );

  return (
    <div
      ref={scroller}
      className="min-h-0 flex-1 overflow-y-auto px-2.5 pb-2"
      // An empty list is no list.
      {...(rows.length > 0 ? { role: "list", "aria-label": t("nav.conversations") } : {})}
    >
      {rows.length === 0 && <p className="px-2.5 py-3 text-sm text-ink-3">{empty}</p>}
      {rows.length < VIRTUAL_FROM ? (
        rows.map((row) => (
          <div key={keyOf(row)} role={row.kind === "one" ? "listitem" : "presentation"}>
            {show(row)}
          </div>
        ))
      ) : (
        <LongList rows={rows} scroller={scroller} show={show} />
      )}
    </div>
  );
}

/** The time, to the minute: at midnight "today" becomes "yesterday". */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 60_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function keyOf(row: Row): string {
  return row.kind === "age" ? row.age : row.one.id;
}

function LongList({
  rows,
  scroller,
  show,
}: {
  rows: Row[];
  scroller: React.RefObject<HTMLDivElement | null>;
  show: (row: Row) => React.ReactNode;
}) {
  "use no memo"; // The virtualizer changes under the same reference, which the compiler would cache.
  // oxlint-disable-next-line react/incompatible-library
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 36,
    getItemKey: (index) => {
      const row = rows[index];
      return row ? keyOf(row) : index;
    },
    overscan: 12,
  });
  return (
    <div style={{ height: list.getTotalSize(), position: "relative" }} role="presentation">
      {list.getVirtualItems().map((item) => {
        const row = rows[item.index];
        return (
          row && (
            <div
              key={item.key}
              ref={list.measureElement}
              data-index={item.index}
              role={row.kind === "one" ? "listitem" : "presentation"}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {show(row)}
            </div>
          )
        );
      })}
    </div>
  );
}

function ConversationRow({ one, onGo }: { one: ConversationSummary; onGo?: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const open = useParams({ strict: false }).id === one.id;
  const answering = useLive((live) => live.running.includes(one.id));
  const [renaming, setRenaming] = useState(false);
  const rename = useTell("conversations/rename");
  const remove = useTell("conversations/delete");
  const restore = useTell("conversations/restore");
  const write = useTell("conversations/export");
  const title = one.title || t("nav.untitled");

  function trash() {
    remove.mutate(
      { id: one.id },
      {
        onSuccess: () => {
          if (open) void navigate({ to: "/" });
          say(t("nav.deleted", { title }), {
            label: t("app.undo"),
            run: () => restore.mutate({ id: one.id }),
          });
        },
        onError: ({ fault }) => say(faultTitle(t, fault)),
      },
    );
  }

  function save(markdown: boolean) {
    const words = {
      you: t("chat.you"),
      answer: t("chat.assistant"),
      thought: t("chat.reasoning"),
      tool: t("chat.tools.settings"),
    };
    write.mutate(
      { id: one.id, save: true, ...(markdown ? { words } : {}) },
      {
        onSuccess: ({ path }) => say(t("nav.saved", { path })),
        onError: ({ fault }) => say(faultTitle(t, fault)),
      },
    );
  }

  if (renaming) {
    const finish = (to: string) => {
      setRenaming(false);
      if (to.trim() !== "" && to.trim() !== one.title) rename.mutate({ id: one.id, title: to.trim() });
    };
    return (
      <input
        aria-label={t("nav.renameLabel")}
        defaultValue={one.title}
        // The person asked for this field a moment ago.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        onFocus={(event) => event.currentTarget.select()}
        onBlur={(event) => finish(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") finish(event.currentTarget.value);
          if (event.key === "Escape") setRenaming(false);
        }}
        className="h-(--row) w-full rounded-md bg-raised px-2.5 text-sm shadow-[inset_0_0_0_2px_var(--focus)] outline-hidden"
      />
    );
  }

  return (
    <div
      className={cx(
        "group relative rounded-md transition-colors",
        open ? "bg-pressed" : "hover:bg-pressed/60",
      )}
    >
      <Link
        to="/c/$id"
        params={{ id: one.id }}
        aria-current={open ? "page" : undefined}
        onClick={onGo}
        onKeyDown={(event) => {
          if (event.key === "F2") setRenaming(true);
          if (event.key === "Delete") trash();
        }}
        className={cx(
          "flex h-(--row) items-center gap-2 rounded-md px-2.5 text-sm no-underline",
          open ? "font-medium text-ink" : "text-ink-2",
        )}
      >
        <span className="min-w-0 flex-1 truncate group-focus-within:pr-6 group-hover:pr-6">{title}</span>
        {answering && (
          <span className="breathe size-1.5 shrink-0 rounded-full bg-signal group-hover:invisible">
            <span className="sr-only">{t("nav.answering")}</span>
          </span>
        )}
      </Link>
      <div className="absolute top-1/2 right-1 -translate-y-1/2 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 has-data-popup-open:opacity-100">
        <Menu
          trigger={
            <IconButton label={t("nav.actions", { title })} size="sm" side="right">
              <MoreHorizontal size={15} />
            </IconButton>
          }
        >
          <MenuItem icon={<Pencil size={14} />} onClick={() => setRenaming(true)}>
            {t("nav.rename")}
          </MenuItem>
          <MenuItem icon={<FileText size={14} />} onClick={() => save(true)}>
            {t("nav.saveMarkdown")}
          </MenuItem>
          <MenuItem icon={<FileJson size={14} />} onClick={() => save(false)}>
            {t("nav.saveDocument")}
          </MenuItem>
          <MenuItem icon={<Trash2 size={14} />} danger onClick={trash}>
            {t("nav.delete")}
          </MenuItem>
        </Menu>
      </div>
    </div>
  );
}
