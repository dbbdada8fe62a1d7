import { Popover as Base } from "@base-ui/react/popover";
import type { ReactElement, ReactNode } from "react";

export function Popover({
  trigger,
  title,
  side = "top",
  align = "start",
  children,
}: {
  trigger: ReactElement;
  title: string;
  side?: "top" | "bottom";
  align?: "start" | "center" | "end";
  children: ReactNode;
}) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner side={side} align={align} sideOffset={8} collisionPadding={8} className="z-30">
          <Base.Popup className="enter w-80 max-w-[calc(100vw-16px)] rounded-lg bg-raised p-4 shadow-high ring-1 ring-hairline outline-hidden">
            <Base.Title className="text-sm font-semibold">{title}</Base.Title>
            <div className="mt-2">{children}</div>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
