import { useEffect, useRef, type ReactNode } from "react";

import { cx } from "@/lib/cx";

/**
 * The title of a page that a link led to. The focus follows the person there, so that a screen reader says where they
 * are and the next Tab goes on from here; whoever is in the page already keeps theirs.
 */
export function PageTitle({ children, className }: { children: ReactNode; className?: string }) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const focused = document.activeElement;
    const here = focused?.closest("main");
    if (focused && focused !== document.body && !here) title.current?.focus({ preventScroll: true });
  }, []);
  return (
    <h1 ref={title} tabIndex={-1} className={cx("text-xl font-semibold outline-hidden", className)}>
      {children}
    </h1>
  );
}
