import { useTranslation } from "react-i18next";

import { Choice, Toggle } from "@/components/Choice";
import type { Settings } from "@/wire/wire";

import { Group, Row } from "./Group";

/** Minutes; 0 is never. */
const IDLES = [5, 30, 120, 0];
const USUAL = 30;

/** What sends a model out of memory that nobody uses. */
export function Memory({ now, set }: { now: Settings; set: (change: Partial<Settings>) => void }) {
  const { t } = useTranslation();
  const { idleMinutes = USUAL } = now;
  // A terminal may have set another.
  const idles = IDLES.includes(idleMinutes) ? IDLES : [idleMinutes, ...IDLES];
  return (
    <Group id="memory" title={t("settings.memory")}>
      <Row name={t("settings.idle")} about={t("settings.idleAbout")}>
        <Choice
          label={t("settings.idle")}
          value={String(idleMinutes)}
          options={idles.map((minutes) => ({
            value: String(minutes),
            label: minutes === 0 ? t("settings.idleNever") : t("settings.idleAfter", { count: minutes }),
          }))}
          onChange={(minutes) => set({ idleMinutes: Number(minutes) })}
        />
      </Row>
      <Row name={t("settings.releaseOnSleep")} about={t("settings.releaseOnSleepAbout")}>
        <Toggle
          label={t("settings.releaseOnSleep")}
          checked={now.releaseOnSleep === true}
          onChange={(releaseOnSleep) => set({ releaseOnSleep })}
        />
      </Row>
    </Group>
  );
}
