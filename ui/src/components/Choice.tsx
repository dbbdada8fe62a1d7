import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import { Switch } from "@base-ui/react/switch";

/** One of a few, all in sight. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}) {
  return (
    <RadioGroup
      aria-label={label}
      value={value}
      onValueChange={(next) => onChange(next as T)}
      className="inline-flex max-w-full flex-wrap gap-0.5 rounded-md bg-pressed/70 p-0.5"
    >
      {options.map((option) => (
        <Radio.Root
          key={option.value}
          value={option.value}
          className="inline-flex h-7 items-center rounded-sm px-3 text-sm text-ink-2 transition-colors select-none hover:text-ink data-checked:bg-lifted data-checked:font-medium data-checked:text-ink data-checked:shadow-low"
        >
          {option.label}
        </Radio.Root>
      ))}
    </RadioGroup>
  );
}

export function Toggle({
  label,
  checked,
  disabled = false,
  onChange,
}: {
  label: string;
  checked: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <Switch.Root
      aria-label={label}
      checked={checked}
      disabled={disabled}
      onCheckedChange={onChange}
      className="relative h-5 w-9 shrink-0 rounded-full bg-control transition-colors data-checked:bg-sea data-disabled:opacity-50"
    >
      <Switch.Thumb className="block size-4 translate-x-0.5 rounded-full bg-raised shadow-low transition-transform data-checked:translate-x-[18px]" />
    </Switch.Root>
  );
}
