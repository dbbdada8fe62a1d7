import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { cx } from "@/lib/cx";

import { IconButton } from "./Button";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  children?: ReactNode;
  /** The buttons, the one that acts last. */
  actions?: ReactNode;
  wide?: boolean;
}

export function Dialog({ open, onClose, title, about, children, actions, wide = false }: DialogProps) {
  const { t } = useTranslation();
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-scrim transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Base.Viewport className="fixed inset-0 z-40 grid place-items-center overflow-y-auto p-4">
          <Base.Popup
            className={cx(
              "enter flex max-h-[calc(100dvh-32px)] w-full flex-col rounded-xl bg-raised shadow-high",
              "outline-hidden",
              wide ? "max-w-[720px]" : "max-w-[460px]",
            )}
          >
            <div className="flex items-start gap-3 px-5 pt-4">
              <Base.Title className="min-w-0 flex-1 pt-1 text-lg font-semibold">{title}</Base.Title>
              <Base.Close
                render={
                  <IconButton label={t("app.close")} size="sm">
                    <X size={16} />
                  </IconButton>
                }
              />
            </div>
            {about && <Base.Description className="px-5 pt-1 text-base text-ink-2">{about}</Base.Description>}
            {children && <div className="min-h-0 overflow-y-auto px-5 pt-4 pb-1">{children}</div>}
            {actions ? (
              <div className="flex flex-wrap justify-end gap-2 px-5 pt-4 pb-5">{actions}</div>
            ) : (
              <div className="h-5" />
            )}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
