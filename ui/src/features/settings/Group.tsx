import type { ReactNode } from "react";

import { cx } from "@/lib/cx";

export function Group({
  id,
  title,
  about,
  flat = false,
  children,
}: {
  id: string;
  title: string;
  about?: string;
  flat?: boolean;
  children: ReactNode;
}) {
  return (
    <section id={id} aria-label={title} className="scroll-mt-6">
      <h2 className="text-md font-semibold">{title}</h2>
      {about && <p className="mt-0.5 text-base text-ink-2">{about}</p>}
      <div
        className={cx(
          "mt-3 flow-root",
          !flat && "divide-y divide-hairline rounded-lg bg-raised ring-1 ring-hairline",
        )}
      >
        {children}
      </div>
    </section>
  );
}

export function Row({ name, about, children }: { name: string; about?: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-40 flex-1">
        <p className="text-base">{name}</p>
        {about && <p className="text-sm text-ink-3">{about}</p>}
      </div>
      <div className="flex max-w-full min-w-0 items-center gap-2">{children}</div>
    </div>
  );
}
