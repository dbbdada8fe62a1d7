import { type ComponentProps, useId } from "react";

import { cx } from "@/lib/cx";

export const fieldClass =
  "h-9 w-full min-w-0 rounded-md bg-raised px-3 text-base text-ink shadow-[inset_0_0_0_1px_var(--control)] outline-hidden focus-visible:shadow-[inset_0_0_0_2px_var(--focus)]";

export function TextField({ label, className, ...rest }: ComponentProps<"input"> & { label: string }) {
  const id = useId();
  return (
    <div className={cx("flex flex-col gap-1.5", className)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <input id={id} spellCheck={false} autoComplete="off" {...rest} className={fieldClass} />
    </div>
  );
}
