import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Choice, Toggle } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { Mark } from "@/components/Mark";
import { PageTitle } from "@/components/PageTitle";
import { Lines } from "@/features/models/PlanWords";
import { MachineFacts } from "@/features/start/MachineFacts";
import { LANGUAGES } from "@/i18n";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import { useLive } from "@/state/live";
import type { Settings } from "@/wire/wire";

import { Conversations } from "./Conversations";
import { Endpoint } from "./Endpoint";
import { Engines } from "./Engines";
import { Folders } from "./Folders";
import { Group, Row } from "./Group";
import { HubSite } from "./HubSite";
import { Memory } from "./Memory";
import { Providers } from "./Providers";
import { Servers } from "./Servers";
import { Shortcuts } from "./Shortcuts";

const SECTIONS = [
  "appearance",
  "memory",
  "engines",
  "folders",
  "hub",
  "providers",
  "servers",
  "conversations",
  "endpoint",
  "shortcuts",
  "about",
  "aboutApp",
] as const;

/** How often the status bar is read. */
const SAMPLE_EVERY_MS = { fast: 500, normal: 1500, slow: 5000 } as const;

/** The nearest of the three: a terminal may have set another. */
function samplingOf({ sampleEveryMs = SAMPLE_EVERY_MS.normal }: Settings): keyof typeof SAMPLE_EVERY_MS {
  if (sampleEveryMs < 1000) return "fast";
  return sampleEveryMs > 3000 ? "slow" : "normal";
}

export function SettingsPage() {
  const { t } = useTranslation();
  const { section } = useSearch({ from: "/settings" });
  const navigate = useNavigate();
  const settings = useAsk("settings/read", {});
  const machine = useAsk("machine/read", { fresh: false });
  const version = useLive((live) => live.version);
  const write = useTell("settings/write");
  const fault = faultOfResult(settings) ?? faultOfResult(write);
  const now: Settings = write.isPending ? (write.variables?.settings ?? {}) : (settings.data ?? {});
  const set = (change: Partial<Settings>) => write.mutate({ settings: { ...now, ...change } });

  // Only when the lists above it have their height does a section stay where it was scrolled to.
  const engines = useAsk("engines/list", {});
  const hub = useAsk("hub/read", {});
  const providers = useAsk("providers/list", {});
  const settled = !engines.isPending && !hub.isPending && !providers.isPending && !settings.isPending;
  useEffect(() => {
    if (section && settled) document.getElementById(section)?.scrollIntoView({ block: "start" });
  }, [section, settled]);

  return (
    <div className="h-full overflow-y-auto">
      <div className="mx-auto flex max-w-[920px] gap-10 px-5 py-8">
        <nav
          aria-label={t("settings.sections")}
          className="sticky top-0 hidden w-40 shrink-0 self-start pt-12 lg:block"
        >
          <ul className="flex flex-col gap-0.5">
            {SECTIONS.map((one) => (
              <li key={one}>
                <button
                  type="button"
                  onClick={() => document.getElementById(one)?.scrollIntoView({ block: "start" })}
                  className="h-8 w-full rounded-md px-2.5 text-left text-sm text-ink-2 hover:bg-sunken hover:text-ink"
                >
                  {t(`settings.${one}`)}
                </button>
              </li>
            ))}
          </ul>
        </nav>
        <div className="flex min-w-0 flex-1 flex-col gap-10 pb-16">
          <PageTitle className="-mb-4">{t("settings.title")}</PageTitle>
          {fault && <FaultCard fault={fault} fixes={{ retry: () => void settings.refetch() }} />}

          <Group id="appearance" title={t("settings.appearance")}>
            <Row name={t("settings.theme")}>
              <Choice
                label={t("settings.theme")}
                value={now.theme ?? "system"}
                options={(["system", "light", "dark"] as const).map((value) => ({
                  value,
                  label: t(`settings.themes.${value}`),
                }))}
                onChange={(theme) => set({ theme })}
              />
            </Row>
            <Row name={t("settings.language")}>
              <Choice
                label={t("settings.language")}
                value={now.language ?? "system"}
                options={(["system", ...LANGUAGES] as const).map((value) => ({
                  value,
                  label: t(`settings.languages.${value}`),
                }))}
                onChange={(language) => set({ language })}
              />
            </Row>
            <Row name={t("settings.density")}>
              <Choice
                label={t("settings.density")}
                value={now.density ?? "comfortable"}
                options={(["comfortable", "compact"] as const).map((value) => ({
                  value,
                  label: t(`settings.densities.${value}`),
                }))}
                onChange={(density) => set({ density })}
              />
            </Row>
            <Row name={t("settings.statusBar")} about={t("settings.statusBarAbout")}>
              <Toggle
                label={t("settings.statusBar")}
                checked={now.statusBar !== false}
                onChange={(statusBar) => set({ statusBar })}
              />
            </Row>
            <Row name={t("settings.sampling")} about={t("settings.samplingAbout")}>
              <Choice
                label={t("settings.sampling")}
                value={samplingOf(now)}
                options={(["fast", "normal", "slow"] as const).map((value) => ({
                  value,
                  label: t(`settings.samplings.${value}`),
                }))}
                onChange={(sampling) => set({ sampleEveryMs: SAMPLE_EVERY_MS[sampling] })}
              />
            </Row>
          </Group>

          <Memory now={now} set={set} />
          <Engines />
          <Folders />
          <HubSite wanted={section === "hub"} />
          <Providers />
          <Servers />
          <Conversations titles={now.titles !== false} onTitles={(titles) => set({ titles })} />
          <Endpoint on={now.endpoint !== false} onChange={(endpoint) => set({ endpoint })} />
          <Shortcuts />

          <Group id="about" title={t("settings.about")} flat>
            {machine.data && <MachineFacts machine={machine.data} />}
            <Button size="sm" className="mt-4" onClick={() => void navigate({ to: "/machine" })}>
              {t("machine.open")}
            </Button>
          </Group>

          <Group id="aboutApp" title={t("settings.aboutApp")} flat>
            <div className="flex items-start gap-x-5 gap-y-3 max-sm:flex-col">
              <Mark size={52} className="mt-1" />
              <div className="min-w-0 flex-1">
                <p className="mb-3 text-base text-ink-2">{t("settings.markAbout")}</p>
                <Lines
                  rows={[
                    [t("settings.version"), version || t("app.unknown")],
                    [t("settings.update"), t("settings.updateAbout")],
                    [t("settings.sizes"), t("settings.sizesAbout")],
                  ]}
                />
              </div>
            </div>
          </Group>
        </div>
      </div>
    </div>
  );
}
