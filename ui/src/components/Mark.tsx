import { useId } from "react";

import { cx } from "@/lib/cx";

/**
 * The Plimsoll disc: a circle crossed by a line. `level` fills the disc with water, from 0 to 1; the line
 * stays where it is.
 */
export function Mark({ size = 20, level, className }: { size?: number; level?: number; className?: string }) {
  const id = useId();
  const share = level === undefined ? undefined : Math.min(1, Math.max(0, level));
  return (
    <svg
      viewBox="0 0 32 32"
      width={size}
      height={size}
      className={cx("shrink-0", className)}
      fill="none"
      aria-hidden="true"
    >
      {share !== undefined && (
        <g>
          <clipPath id={id}>
            <circle cx="16" cy="16" r="9" />
          </clipPath>
          <rect
            x="6"
            width="20"
            height="20"
            y={25 - share * 9}
            fill="var(--water-context)"
            clipPath={`url(#${id})`}
            style={{ transition: "y 180ms" }}
          />
        </g>
      )}
      <circle cx="16" cy="16" r="9" stroke="currentColor" strokeWidth="2.5" />
      <path d="M1.5 16h29" stroke="var(--signal)" strokeWidth="2.5" strokeLinecap="round" />
    </svg>
  );
}
