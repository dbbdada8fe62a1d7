import { Progress } from "@base-ui/react/progress";

import { cx } from "@/lib/cx";

/** A bar of progress. Without a value it says that something moves, not how far. */
export function Bar({
  label,
  value,
  valueText,
  className,
}: {
  label: string;
  /** 0 to 1 */
  value: number | undefined;
  valueText?: string;
  className?: string;
}) {
  return (
    <Progress.Root
      aria-label={label}
      value={value === undefined ? null : value * 100}
      getAriaValueText={() => valueText ?? (value === undefined ? label : `${Math.round(value * 100)} %`)}
      className={className}
    >
      <Progress.Track className="block h-1.5 overflow-hidden rounded-full bg-pressed">
        <Progress.Indicator
          className={cx(
            "block h-full rounded-full bg-sea transition-[width] duration-150 ease-linear",
            value === undefined && "breathe w-1/3",
          )}
        />
      </Progress.Track>
    </Progress.Root>
  );
}
