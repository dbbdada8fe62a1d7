import { Dialog } from "@base-ui/react/dialog";
import { Outlet, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { Menu as MenuIcon } from "lucide-react";
import { Suspense, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { Mark } from "@/components/Mark";
import { ModelPicker } from "@/features/picker/ModelPicker";
import { applyLanguage } from "@/i18n";
import { later } from "@/lib/later";
import { faultOfResult, useAsk } from "@/state/ask";
import { useLive } from "@/state/live";
import { useView } from "@/state/view";

import { applyAppearance } from "./appearance";
import { Sidebar } from "./Sidebar";
import { StatusBar } from "./StatusBar";
import { useShortcuts } from "./shortcuts";

const FirstStart = later(() => import("@/features/start/FirstStart").then((module) => module.FirstStart));

/** While the state of things is read; the page that is served looks the same, so that nothing jumps. */
function Waiting() {
  return (
    <div className="grid min-h-0 flex-1 place-items-center p-6">
      <Mark size={40} className="breathe text-ink-3" />
    </div>
  );
}

/** The window: list, page, status bar. Before the first model there is only the first start. */
export function Shell() {
  const { t } = useTranslation();
  const settings = useAsk("settings/read", {});
  const known = useLive((live) => live.known);
  const connected = useLive((live) => live.connected);
  const firstStart = useLive((live) => live.firstStart);
  const skipped = useView((view) => view.startSkipped);
  const [entered, setEntered] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useShortcuts();

  useEffect(() => {
    if (!settings.data) return;
    void applyLanguage(settings.data.language);
    return applyAppearance(settings.data);
  }, [settings.data]);

  if (!known) {
    const fault = faultOfResult(settings);
    return (
      <main className="flex h-full flex-col">
        {fault ? (
          <div className="grid flex-1 place-items-center p-6">
            <FaultCard fault={fault} className="max-w-md" fixes={{ retry: () => window.location.reload() }} />
          </div>
        ) : (
          <Waiting />
        )}
      </main>
    );
  }

  // Once entered it is left by its own door: the end of a setup is seen before the chat opens.
  if (firstStart && !entered) setEntered(true);
  // The settings stay reachable: an engine of one's own is added there.
  const starting = (firstStart || entered) && !skipped && path !== "/settings" && path !== "/models";
  return (
    <div className="flex h-full flex-col">
      <a
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
        className="sr-only z-50 rounded-md bg-raised px-3 py-2 shadow-high focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {t("app.skip")}
      </a>
      {!connected && (
        <div role="status" className="bg-warn-soft px-4 py-1.5 text-center text-sm text-warn-ink">
          {t("app.lost")}
        </div>
      )}
      {starting ? (
        <Suspense fallback={<Waiting />}>
          <FirstStart />
        </Suspense>
      ) : (
        <div className="flex min-h-0 flex-1">
          <aside className="hidden w-64 shrink-0 border-r border-hairline bg-sunken md:block">
            <Sidebar />
          </aside>
          <div className="flex min-w-0 flex-1 flex-col">
            <TopBar />
            <main id="main" tabIndex={-1} className="min-h-0 flex-1 outline-hidden">
              <Outlet />
            </main>
          </div>
        </div>
      )}
      {settings.data?.statusBar !== false && !starting && <StatusBar />}
      <ModelPicker />
    </div>
  );
}

/** On a narrow window the list is behind a button. */
function TopBar() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const open = useParams({ strict: false }).id;
  const list = useAsk("conversations/list", { trash: false });
  const title = list.data?.conversations.find((one) => one.id === open)?.title;
  const drawer = useView((view) => view.drawer);
  const setDrawer = (shown: boolean) => useView.setState({ drawer: shown });
  return (
    <header className="flex h-12 shrink-0 items-center gap-1 border-b border-hairline px-2 md:hidden">
      <Dialog.Root open={drawer} onOpenChange={setDrawer}>
        <Dialog.Trigger
          render={
            <IconButton label={t("nav.open")} side="bottom">
              <MenuIcon size={18} />
            </IconButton>
          }
        />
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-40 bg-scrim transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
          <Dialog.Popup
            aria-label={t("nav.main")}
            className="fixed inset-y-0 left-0 z-40 w-72 max-w-[85vw] bg-sunken shadow-high outline-hidden transition-transform duration-150 data-ending-style:-translate-x-full data-starting-style:-translate-x-full"
          >
            <Sidebar onGo={() => setDrawer(false)} />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <button
        type="button"
        aria-label={t("nav.newChat")}
        className="flex min-w-0 items-center gap-2 rounded-md px-2 py-1 font-semibold"
        onClick={() => void navigate({ to: "/" })}
      >
        <Mark size={18} />
        <span className="truncate">{title || t("app.name")}</span>
      </button>
    </header>
  );
}
