import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { FaultCard } from "@/components/FaultCard";
import { useFormat } from "@/i18n/format";
import { useTell } from "@/state/ask";
import { routerModels, useLive } from "@/state/live";
import type { LoadStage } from "@/wire/wire";

import { useFixes } from "./fixes";

/** Above the composer while the model is not ready: what it does now, or why it does not. */
export function ModelState({ model }: { model: string | undefined }) {
  const { t } = useTranslation();
  const format = useFormat();
  const router = useLive((live) => live.router);
  const load = useTell("router/load");
  const again = model === undefined ? undefined : () => load.mutate({ model, wishes: {} });
  const fixes = useFixes({ model, ...(again ? { retry: again } : {}) });

  if (load.error) return <FaultCard fault={load.error.fault} fixes={fixes} />;
  switch (router.state) {
    case "off":
      return null;
    case "starting":
      return <Line text={t("chat.routerStarting")} />;
    case "waiting":
      return <Line text={t("chat.routerWaiting")} />;
    case "failed":
      return <FaultCard fault={router.fault} fixes={fixes} />;
    case "ready":
      break;
    default:
      return router satisfies never;
  }
  const loaded = routerModels(router).find((one) => one.id === model);
  if (!loaded) return null;
  switch (loaded.status) {
    case "loading": {
      const value = loaded.progress?.value ?? 0;
      return (
        <Line
          text={t("chat.modelLoading", { name: loaded.name })}
          more={`${stageText(t, loaded.progress)} ${format.percent(value)}`}
          value={value}
        />
      );
    }
    case "proving":
      return <Line text={t("chat.modelProving", { name: loaded.name })} value={1} />;
    case "failed":
      return loaded.fault ? <FaultCard fault={loaded.fault} fixes={fixes} /> : null;
    case "ready":
    case "unloaded":
      return null;
    default:
      return loaded.status satisfies never;
  }
}

function stageText(t: TFunction, stage: LoadStage | undefined): string {
  switch (stage?.stage) {
    case "text_model":
    case "mmproj_model":
    case "spec_model":
      return t(`chat.loadStage.${stage.stage}`);
    default:
      return "";
  }
}

function Line({ text, more, value }: { text: string; more?: string; value?: number }) {
  return (
    <div role="status" className="num rounded-lg bg-sunken px-4 py-2.5 text-sm ring-1 ring-hairline">
      <div className="mb-2 flex flex-wrap justify-between gap-x-3">
        <span className="font-medium break-words">{text}</span>
        {more && <span className="text-ink-2">{more}</span>}
      </div>
      <Bar label={text} value={value} />
    </div>
  );
}
