import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";

import { cx } from "@/lib/cx";

export function Menu({ trigger, children }: { trigger: ReactElement; children: ReactNode }) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className="z-30">
          <Base.Popup className="enter min-w-40 rounded-lg bg-raised p-1 shadow-high outline-hidden ring-1 ring-hairline">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export function MenuItem({
  icon,
  danger = false,
  disabled = false,
  onClick,
  children,
}: {
  icon?: ReactNode;
  danger?: boolean;
  disabled?: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <Base.Item
      disabled={disabled}
      onClick={onClick}
      className={cx(
        "flex h-8 items-center gap-2.5 rounded-sm px-2.5 text-sm outline-hidden select-none data-highlighted:bg-pressed data-disabled:opacity-45",
        danger ? "text-bad-ink" : "text-ink",
      )}
    >
      {icon && <span className="text-current opacity-75">{icon}</span>}
      {children}
    </Base.Item>
  );
}
