import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { useFormat } from "@/i18n/format";
import { cx } from "@/lib/cx";

import { Hull, strips, waterOf } from "./Hull";
import type { Pool } from "./pools";

const LABEL_GAP = 22;

interface LoadGaugeProps {
  pool: Pool;
  height?: number;
  width?: number;
  filled?: number;
  /** Lets the context's water be dragged: called with the new size of the context layer in bytes. */
  onDrag?: (contextBytes: number) => void;
  onDragEnd?: () => void;
}

/**
 * The load gauge: one memory as a hull. The line is what may be used, the water is what the plan uses. The
 * words beside it are its twin for eyes, the sentence on the figure its twin for screen readers.
 */
export function LoadGauge({
  pool,
  height = 220,
  width = 132,
  filled = 1,
  onDrag,
  onDragEnd,
}: LoadGaugeProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const [dragging, setDragging] = useState(false);
  const start = useRef({ y: 0, bytes: 0 });

  const where = pool.host ? t("gauge.memory") : pool.name;
  const layers = strips(pool);
  const context = layers.find((strip) => strip.layer === "context");
  const y = (share: number) => height - share * height;
  const rows = labelRows(pool, layers, height);

  return (
    <figure
      className={cx("m-0 flex gap-3", dragging && "gauge-dragging")}
      aria-label={gaugeSentence(t, format, pool, where)}
      role="group"
    >
      <div className="relative shrink-0">
        <Hull pool={pool} width={width} height={height} filled={filled} />
        {onDrag && context && (
          <div
            data-testid="drag-water"
            className="group absolute left-2 flex h-5 -translate-y-1/2 cursor-ns-resize touch-none items-center justify-end pr-2"
            style={{ top: Math.min(height - 12, Math.max(0, y(context.top))) + 8, width: width + 4 }}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              const bytes = pool.parts.find((part) => part.layer === "context")?.bytes ?? 0;
              start.current = { y: event.clientY, bytes };
              setDragging(true);
            }}
            onPointerMove={(event) => {
              if (!dragging) return;
              const moved = ((start.current.y - event.clientY) / height) * pool.totalBytes;
              onDrag(Math.max(1, start.current.bytes + moved));
            }}
            onPointerUp={() => {
              setDragging(false);
              onDragEnd?.();
            }}
            onPointerCancel={() => {
              setDragging(false);
              onDragEnd?.();
            }}
          >
            <span className="h-1.5 w-8 rounded-full bg-paper shadow-low ring-1 ring-hull transition-[width] group-hover:w-12" />
          </div>
        )}
      </div>
      <dl className="relative num min-w-36 flex-1 text-sm" style={{ height: height + 10 }}>
        {rows.map((row) => (
          <div
            key={row.key}
            className="absolute flex w-full items-baseline gap-2 whitespace-nowrap"
            style={{ top: row.y - 2 }}
          >
            <dt className="flex min-w-0 items-center gap-2">
              {row.key === "line" ? (
                <span className="h-[2.5px] w-3 shrink-0 rounded-full bg-signal" />
              ) : row.key === "free" ? (
                <span className="size-2.5 w-3 shrink-0" />
              ) : (
                <span className="h-2.5 w-3 shrink-0 rounded-[3px]" style={{ background: waterOf(row.key) }} />
              )}
              <span className={row.key === "line" ? "font-medium" : "text-ink-2"}>{rowName(t, row.key)}</span>
            </dt>
            <dd className={cx("m-0", row.key === "line" && "font-medium")}>{format.bytes(row.bytes)}</dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}

type Texts = ReturnType<typeof useTranslation>["t"];

function rowName(t: Texts, key: string): string {
  switch (key) {
    case "line":
      return t("gauge.line");
    case "others":
    case "weights":
    case "context":
    case "compute":
    case "projector":
    case "overhead":
      return t(`gauge.parts.${key}`);
    default:
      return key;
  }
}

export function gaugeSentence(
  t: Texts,
  format: ReturnType<typeof useFormat>,
  pool: Pool,
  where: string,
): string {
  const [used, whole] = format.pair(pool.usedBytes, pool.totalBytes);
  const line = format.bytes(pool.budgetBytes);
  const head =
    pool.overBytes > 0
      ? t("gauge.summaryOver", {
          where,
          used: format.bytes(pool.usedBytes),
          over: format.bytes(pool.overBytes),
          line,
        })
      : t("gauge.summary", { where, used, whole, line });
  const parts = pool.parts.map((part) => `${t(`gauge.parts.${part.layer}`)} ${format.bytes(part.bytes)}`);
  return `${head} ${parts.join(", ")}.`;
}

interface Row {
  key: string;
  bytes: number;
  y: number;
}

/** A label beside each layer, as close to its middle as its neighbours allow, the line's own among them. */
function labelRows(pool: Pool, layers: ReturnType<typeof strips>, height: number): Row[] {
  const wanted: Row[] = layers.map((strip) => ({
    key: strip.layer,
    bytes: pool.parts.find((part) => part.layer === strip.layer)?.bytes ?? 0,
    y: height - Math.min(1, (strip.top + strip.bottom) / 2) * height,
  }));
  wanted.push({
    key: "line",
    bytes: pool.budgetBytes,
    y: height - (pool.lineBytes / pool.totalBytes) * height,
  });
  wanted.sort((a, b) => b.y - a.y);

  // From the keel up, then back down from the rim when they do not fit.
  let floor = height - 6;
  for (const row of wanted) {
    row.y = Math.min(row.y, floor);
    floor = row.y - LABEL_GAP;
  }
  let ceiling = 0;
  for (const row of wanted.toReversed()) {
    row.y = Math.max(row.y, ceiling);
    ceiling = row.y + LABEL_GAP;
  }
  return wanted;
}
