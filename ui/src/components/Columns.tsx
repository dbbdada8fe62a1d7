import { cx } from "@/lib/cx";

export interface Column {
  /** What stands below. */
  name: string;
  /** Width and alignment. */
  className?: string;
  /** Said to screen readers only, where the column explains itself. */
  unseen?: boolean;
}

/** The quiet head of a table. */
export function Columns({ columns }: { columns: readonly Column[] }) {
  return (
    <thead>
      <tr className="text-left text-sm text-ink-3">
        {columns.map(({ name, className, unseen }) => (
          <th key={name} scope="col" className={cx("pb-1.5 font-normal", className)}>
            {unseen ? <span className="sr-only">{name}</span> : name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
