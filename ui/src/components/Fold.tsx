import { Collapsible } from "@base-ui/react/collapsible";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";

import { cx } from "@/lib/cx";

/** Something more for who wants it. */
export function Fold({
  label,
  open,
  children,
  className,
}: {
  label: ReactNode;
  open?: boolean;
  children: ReactNode;
  className?: string;
}) {
  return (
    <Collapsible.Root defaultOpen={open ?? false} className={className}>
      <Collapsible.Trigger className="group -ml-1 inline-flex items-center gap-1 rounded-xs px-1 py-0.5 text-left text-sm text-ink-2 hover:text-ink">
        <ChevronRight
          size={14}
          aria-hidden="true"
          className="shrink-0 transition-transform group-data-panel-open:rotate-90"
        />
        {label}
      </Collapsible.Trigger>
      <Collapsible.Panel
        className={cx(
          "h-(--collapsible-panel-height) overflow-hidden transition-[height] duration-150",
          "data-ending-style:h-0 data-starting-style:h-0",
        )}
      >
        {children}
      </Collapsible.Panel>
    </Collapsible.Root>
  );
}
