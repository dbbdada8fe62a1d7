import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Button, IconButton } from "./Button";

interface Extra {
  action?: { label: string; run: () => void };
}

const manager = Toast.createToastManager<Extra>();

/** Says something in the corner, with at most one way to act on it. */
export function say(title: string, action?: { label: string; run: () => void }): void {
  const id = manager.add({
    title,
    timeout: action ? 8000 : 4000,
    data: action
      ? {
          action: {
            label: action.label,
            run: () => {
              manager.close(id);
              action.run();
            },
          },
        }
      : {},
  });
}

export function Toasts() {
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="fixed top-14 right-4 z-50 md:top-4 flex w-[360px] max-w-[calc(100vw-32px)] flex-col gap-2">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
  const { t } = useTranslation();
  const { toasts } = Toast.useToastManager<Extra>();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      swipeDirection="right"
      className="enter rounded-lg bg-ink text-paper shadow-high data-limited:hidden"
    >
      <Toast.Content className="flex items-center gap-2 py-1.5 pr-1.5 pl-4">
        <Toast.Title className="min-w-0 flex-1 py-1 text-sm" />
        {toast.data?.action && (
          <Button
            size="sm"
            look="quiet"
            className="font-medium !text-paper hover:!bg-paper/15"
            onClick={toast.data.action.run}
          >
            {toast.data.action.label}
          </Button>
        )}
        <Toast.Close
          render={
            <IconButton label={t("app.dismiss")} size="sm" className="!text-paper/80 hover:!bg-paper/15">
              <X size={14} />
            </IconButton>
          }
        />
      </Toast.Content>
    </Toast.Root>
  ));
}
