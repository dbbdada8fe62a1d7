import { useTranslation } from "react-i18next";

import { shortcutText } from "@/app/shortcuts";

import { Group, Row } from "./Group";

export function Shortcuts() {
  const { t } = useTranslation();
  const rows = [
    ["picker", shortcutText("K")],
    ["newChat", shortcutText("N")],
    ["settings", shortcutText(",")],
    ["stop", "Esc"],
    ["send", "Enter"],
    ["newLine", "Shift+Enter"],
    ["rename", "F2"],
    ["delete", "Del"],
  ] as const;
  return (
    <Group id="shortcuts" title={t("settings.shortcuts")}>
      {rows.map(([what, keys]) => (
        <Row key={what} name={t(`settings.shortcutNames.${what}`)}>
          <kbd className="rounded-xs bg-sunken px-2 py-0.5 font-sans text-sm text-ink-2 ring-1 ring-hairline">
            {keys}
          </kbd>
        </Row>
      ))}
    </Group>
  );
}
