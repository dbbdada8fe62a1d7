import { Button as Base } from "@base-ui/react/button";
import type { ComponentProps, ReactNode } from "react";

import { cx } from "@/lib/cx";

import { Tip } from "./Tip";

export type Look = "primary" | "plain" | "quiet" | "danger";

const LOOKS: Record<Look, string> = {
  primary: "bg-sea text-on-sea hover:bg-sea-strong active:bg-sea-strong font-medium",
  plain: "bg-raised text-ink shadow-[inset_0_0_0_1px_var(--border)] hover:bg-sunken active:bg-pressed",
  quiet: "text-ink-2 hover:bg-pressed/70 hover:text-ink active:bg-pressed",
  danger: "bg-bad text-on-sea hover:brightness-95 font-medium",
};

const SIZES = {
  sm: "h-7 px-2.5 gap-1.5 text-sm rounded-sm",
  md: "h-8 px-3 gap-2 text-sm rounded-md",
  lg: "h-11 px-5 gap-2 text-md rounded-md",
};

type ButtonProps = ComponentProps<typeof Base> & { look?: Look; size?: keyof typeof SIZES; busy?: boolean };

export function Button({
  look = "plain",
  size = "md",
  busy = false,
  className,
  children,
  ...rest
}: ButtonProps) {
  return (
    <Base
      {...rest}
      disabled={rest.disabled || busy}
      focusableWhenDisabled={busy}
      aria-busy={busy || undefined}
      className={cx(
        "inline-flex shrink-0 items-center justify-center whitespace-nowrap transition-colors select-none",
        "data-disabled:opacity-50",
        LOOKS[look],
        SIZES[size],
        typeof className === "string" ? className : undefined,
      )}
    >
      {children}
    </Base>
  );
}

type IconButtonProps = Omit<ComponentProps<typeof Base>, "aria-label"> & {
  /** Names the button for everyone: as a tooltip and for screen readers. */
  label: string;
  look?: Look;
  size?: "sm" | "md";
  side?: "top" | "bottom" | "right" | "left";
  children: ReactNode;
};

export function IconButton({
  label,
  look = "quiet",
  size = "md",
  side = "top",
  className,
  ...rest
}: IconButtonProps) {
  return (
    <Tip label={label} side={side}>
      <Base
        {...rest}
        aria-label={label}
        className={cx(
          "inline-grid shrink-0 place-items-center transition-colors select-none data-disabled:opacity-45",
          size === "sm" ? "size-7 rounded-sm" : "size-8 rounded-md",
          LOOKS[look],
          typeof className === "string" ? className : undefined,
        )}
      />
    </Tip>
  );
}
