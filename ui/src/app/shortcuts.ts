import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";

import { useView } from "@/state/view";

const isMac = /mac/i.test(navigator.platform);

/** How a shortcut is written on this system. */
export function shortcutText(key: string): string {
  return isMac ? `⌘${key}` : `Ctrl+${key}`;
}

/** The keys that work everywhere in the window. */
export function useShortcuts(): void {
  const navigate = useNavigate();
  useEffect(() => {
    function press(event: KeyboardEvent) {
      const command = isMac ? event.metaKey : event.ctrlKey;
      if (!command || event.altKey) return;
      const key = event.key.toLowerCase();
      if (key === "k" && !event.shiftKey) {
        event.preventDefault();
        useView.setState(({ picker }) => ({ picker: !picker }));
      } else if ((key === "n" && !event.shiftKey) || (key === "o" && event.shiftKey)) {
        event.preventDefault();
        void navigate({ to: "/" });
      } else if (key === ",") {
        event.preventDefault();
        void navigate({ to: "/settings" });
      }
    }
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [navigate]);
}
