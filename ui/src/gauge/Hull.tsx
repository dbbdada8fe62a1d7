import { useId } from "react";

import { cx } from "@/lib/cx";

import type { Pool } from "./pools";

const WATER: Record<string, string> = {
  others: "var(--water-others)",
  weights: "var(--water-weights)",
  repack: "var(--water-repack)",
  context: "var(--water-context)",
  compute: "var(--water-compute)",
  projector: "var(--water-projector)",
  overhead: "var(--water-overhead)",
};

export function waterOf(layer: string): string {
  return WATER[layer] ?? "var(--water-overhead)";
}

export interface Strip {
  layer: string;
  bottom: number;
  top: number;
}

/** Where each layer stands, as shares of the hull's height from the keel up. */
export function strips(pool: Pool): Strip[] {
  let level = 0;
  return pool.parts.map((part) => {
    const bottom = level;
    level += part.bytes;
    return { layer: part.layer, bottom: bottom / pool.totalBytes, top: level / pool.totalBytes };
  });
}

interface HullProps {
  pool: Pool;
  width: number;
  height: number;
  /** How much of the water is in already, 0 to 1: rises while a model is being set up. */
  filled?: number;
  className?: string;
}

/**
 * How high the water stands at its end, where our own part of it begins, and how far that part still lies below
 * its place; as shares of the hull.
 */
export function waterline(pool: Pool, filled: number): { level: number; floor: number; sunk: number } {
  const level = pool.parts.reduce((sum, part) => sum + part.bytes, 0) / pool.totalBytes;
  const floor = (pool.parts.find((part) => part.layer === "others")?.bytes ?? 0) / pool.totalBytes;
  return { level, floor, sunk: (1 - filled) * (level - floor) };
}

/** The picture itself: a hull, its line with the disc, and the water. Words stand beside it, not in it. */
export function Hull({ pool, width, height, filled = 1, className }: HullProps) {
  const id = useId();
  const bilge = Math.min(width * 0.36, height * 0.36);
  const edge = 1.5;
  const shape =
    `M${edge} 0V${height - bilge}Q${edge} ${height - edge} ${edge + bilge} ${height - edge}` +
    `H${width - edge - bilge}Q${width - edge} ${height - edge} ${width - edge} ${height - bilge}V0`;
  const y = (share: number) => height - share * height;
  const line = y(pool.lineBytes / pool.totalBytes);
  const { level, sunk } = waterline(pool, filled);
  const ring = Math.min(10, width * 0.075);

  return (
    <svg
      viewBox={`-10 -8 ${width + 20} ${height + 10}`}
      width={width + 20}
      height={height + 10}
      className={cx("shrink-0 overflow-visible", className)}
      aria-hidden="true"
    >
      <defs>
        <clipPath id={`${id}hull`}>
          <path d={`${shape}Z`} />
        </clipPath>
        <Hatch id={`${id}others`} step={6} ground="var(--water-others)" line="var(--hull)" opacity={0.55} />
        <Hatch id={`${id}over`} step={7} ground="var(--water-over)" line="var(--paper)" opacity={0.5} />
      </defs>
      <g clipPath={`url(#${id}hull)`}>
        <rect width={width} height={height} fill="var(--hull)" />
        {/* What others hold is there already; only our own water rises. */}
        <g className="gauge-water" style={{ transform: `translateY(${sunk * height}px)` }}>
          {strips(pool)
            .filter((strip) => strip.layer !== "others")
            .map((strip) => (
              <StripRect
                key={strip.layer}
                strip={strip}
                width={width}
                height={height}
                fill={waterOf(strip.layer)}
              />
            ))}
          {pool.overBytes > 0 && (
            <rect
              width={width}
              y={Math.max(-2, y(level))}
              height={line - Math.max(-2, y(level))}
              fill={`url(#${id}over)`}
            />
          )}
        </g>
        {strips(pool)
          .filter((strip) => strip.layer === "others")
          .map((strip) => (
            <StripRect
              key={strip.layer}
              strip={strip}
              width={width}
              height={height}
              fill={`url(#${id}others)`}
            />
          ))}
      </g>
      <path d={shape} fill="none" stroke="var(--hull-edge)" strokeWidth="2.5" strokeLinecap="round" />
      <g fill="none" strokeLinecap="round">
        <circle cx={width / 2} cy={line} r={ring} stroke="var(--paper)" strokeWidth="5.5" opacity="0.85" />
        <path d={`M-7 ${line}H${width + 7}`} stroke="var(--paper)" strokeWidth="5" opacity="0.7" />
        <circle cx={width / 2} cy={line} r={ring} stroke="var(--signal)" strokeWidth="2.5" />
        <path d={`M-7 ${line}H${width + 7}`} stroke="var(--signal)" strokeWidth="2.5" />
      </g>
    </svg>
  );
}

/** Slanted lines on a ground: water that is told apart without its colour. */
function Hatch({
  id,
  step,
  ground,
  line,
  opacity,
}: {
  id: string;
  step: number;
  ground: string;
  line: string;
  opacity: number;
}) {
  return (
    <pattern id={id} width={step} height={step} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width={step} height={step} fill={ground} />
      <path d={`M0 0V${step}`} stroke={line} strokeWidth="2" opacity={opacity} />
    </pattern>
  );
}

function StripRect({
  strip,
  width,
  height,
  fill,
}: {
  strip: Strip;
  width: number;
  height: number;
  fill: string;
}) {
  const top = height - strip.top * height;
  return (
    <g>
      <rect
        width={width}
        y={top}
        height={Math.max(1, (strip.top - strip.bottom) * height) + 0.5}
        fill={fill}
        className="gauge-strip"
      />
      <rect width={width} y={top} height="1" fill="var(--paper)" opacity="0.5" className="gauge-strip" />
    </g>
  );
}

/** The hull at the size of a letter, for lists: level, line, and whether it stays below. */
export function MiniHull({
  share,
  tone,
  size = 16,
}: {
  share: number;
  tone: "good" | "warn" | "bad";
  size?: number;
}) {
  const id = useId();
  const level = Math.min(1.25, Math.max(0.06, share));
  const fill = { good: "var(--water-context)", warn: "var(--warn)", bad: "var(--bad)" }[tone];
  // The line sits at 12 of 16 units from the keel; 100 % of the budget reaches it.
  const top = 15 - level * 9.5;
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} fill="none" aria-hidden="true" className="shrink-0">
      <clipPath id={id}>
        <path d="M2 1v8.5Q2 15 7 15h2q5 0 5-5.5V1Z" />
      </clipPath>
      <rect x="2" y={top} width="12" height="16" fill={fill} clipPath={`url(#${id})`} />
      <path
        d="M2 1v8.5Q2 15 7 15h2q5 0 5-5.5V1"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
      />
      <path d="M0.75 5.5h14.5" stroke="var(--signal)" strokeWidth="1.5" strokeLinecap="round" />
    </svg>
  );
}
