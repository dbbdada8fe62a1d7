import type { TFunction } from "i18next";
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { useFormat } from "@/i18n/format";
import { Tip } from "@/components/Tip";
import { cx } from "@/lib/cx";

import { Hull, strips, waterline, waterOf } from "./Hull";
import { partName } from "./names";
import type { Pool } from "./pools";

const LABEL_GAP = 21;

interface LoadGaugeProps {
  pool: Pool;
  height?: number;
  width?: number;
  filled?: number;
  /** Width of the words beside the hull, the leaders to them included. */
  labels?: number;
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
  labels = 196,
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
  const rows = labelRows(pool, layers, height, filled);

  return (
    <figure
      className={cx("m-0 flex gap-1", dragging && "gauge-dragging")}
      aria-label={gaugeSentence(t, format, pool, where)}
      role="group"
    >
      <div className="relative shrink-0">
        <Hull pool={pool} width={width} height={height} filled={filled} />
        {onDrag && context && (
          <div
            data-testid="drag-water"
            title={t("gauge.dragHint")}
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
            <span className="h-1.5 w-8 rounded-full bg-raised shadow-low ring-1 ring-control transition-[width] group-hover:w-12" />
          </div>
        )}
      </div>
      <div className="relative" style={{ width: labels, height: height + 10 }}>
        <Leaders rows={rows} height={height} />
        <dl className="num absolute inset-y-0 right-0 left-6 text-sm">
          {rows.map((row) => (
            <div
              key={row.key}
              className="absolute inset-x-0 flex items-center gap-2 leading-5 whitespace-nowrap"
              style={{ top: row.y - 2 }}
            >
              <dt className={cx("flex-1", row.key === "line" ? "font-medium" : "text-ink-2")}>
                <Tip label={rowAbout(t, format, pool, row.key)} side="right">
                  <span>{row.key === "line" ? t("gauge.line") : partName(t, row.key)}</span>
                </Tip>
              </dt>
              <dd className={cx("m-0", row.key === "line" && "font-medium")}>{format.bytes(row.bytes)}</dd>
            </div>
          ))}
        </dl>
      </div>
    </figure>
  );
}

function gaugeSentence(
  t: TFunction,
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

function rowAbout(t: TFunction, format: ReturnType<typeof useFormat>, pool: Pool, key: string): string {
  switch (key) {
    case "line":
      return t("gauge.lineAbout");
    case "overhead":
      return [
        t("gauge.partAbout.overhead"),
        ...pool.overhead.map((part) => `${partName(t, part.code)} ${format.bytes(part.bytes)}`),
      ].join(" · ");
    case "others":
    case "weights":
    case "repack":
    case "context":
    case "compute":
    case "projector":
      return t(`gauge.partAbout.${key}`);
    default:
      return key;
  }
}

/** A line from each layer to its words, in the layer's own colour. */
function Leaders({ rows, height }: { rows: readonly Row[]; height: number }) {
  return (
    <svg
      width="20"
      height={height + 10}
      className="absolute top-0 left-0 overflow-visible"
      fill="none"
      aria-hidden="true"
    >
      {rows.map((row) => {
        const from = Math.min(height, Math.max(0, row.at)) + 8;
        const to = row.y + 8;
        return (
          <g key={row.key}>
            <path
              d={`M0 ${from}C8 ${from} 8 ${to} 16 ${to}`}
              stroke={colourOf(row.key)}
              strokeWidth="1.25"
              opacity="0.8"
            />
            <circle cx="17" cy={to} r="2.75" fill={colourOf(row.key)} />
          </g>
        );
      })}
    </svg>
  );
}

function colourOf(key: string): string {
  return key === "line" ? "var(--signal)" : waterOf(key);
}

interface Row {
  key: string;
  bytes: number;
  /** Where the layer is, and where its words are, from the rim down. */
  at: number;
  y: number;
}

/** A label beside each layer, as close to its middle as its neighbours allow, the line's own among them. */
function labelRows(pool: Pool, layers: ReturnType<typeof strips>, height: number, filled: number): Row[] {
  const { floor: own, sunk } = waterline(pool, filled);
  // What has not come in yet lies at the floor, where its water will rise from.
  const now = (share: number, layer: string) => (layer === "others" ? share : Math.max(own, share - sunk));
  const down = (share: number) => height - Math.min(1, share) * height;
  const rows: Row[] = layers.map((strip) => ({
    key: strip.layer,
    bytes: pool.parts.find((part) => part.layer === strip.layer)?.bytes ?? 0,
    at: down((now(strip.top, strip.layer) + now(strip.bottom, strip.layer)) / 2),
    y: 0,
  }));
  rows.push({ key: "line", bytes: pool.budgetBytes, at: down(pool.lineBytes / pool.totalBytes), y: 0 });
  rows.sort((a, b) => b.at - a.at);

  // From the keel up, then back down from the rim when they do not fit.
  let floor = height - 8;
  for (const row of rows) {
    row.y = Math.min(row.at, floor);
    floor = row.y - LABEL_GAP;
  }
  let ceiling = 0;
  for (const row of rows.toReversed()) {
    row.y = Math.max(row.y, ceiling);
    ceiling = row.y + LABEL_GAP;
  }
  return rows;
}
