import { Dialog } from "@base-ui/react/dialog";
import { Suspense } from "react";
import { useTranslation } from "react-i18next";

import { later } from "@/lib/later";
import { useView } from "@/state/view";

const PickerBody = later(() => import("./PickerBody").then((module) => module.PickerBody));

/** Fetches the picker before it is opened. */
export const warmPicker = PickerBody.warm;

/** Ctrl/Cmd+K: every model, what it would do here, and one key to use it. */
export function ModelPicker() {
  const { t } = useTranslation();
  const open = useView((view) => view.picker);
  const close = () => useView.setState({ picker: false });
  return (
    <Dialog.Root open={open} onOpenChange={(next) => useView.setState({ picker: next })}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-scrim transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Dialog.Viewport className="fixed inset-0 z-40 flex justify-center overflow-hidden px-3 pt-[9dvh] pb-3">
          <Dialog.Popup
            aria-label={t("picker.title")}
            className="enter flex h-fit max-h-full w-full max-w-[680px] flex-col overflow-hidden lg:max-w-[920px] rounded-xl bg-raised shadow-high outline-hidden"
          >
            <Suspense fallback={<div className="h-13" />}>
              <PickerBody close={close} />
            </Suspense>
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
