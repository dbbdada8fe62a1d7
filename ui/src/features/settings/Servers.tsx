import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { say } from "@/components/Toasts";
import { useFormat } from "@/i18n/format";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import type { ForeignServer } from "@/wire/wire";

import { Group, Row } from "./Group";

/** Servers of other programs that run here: what they hold, and whether their models are offered. Never ended. */
export function Servers() {
  const { t } = useTranslation();
  const found = useAsk("servers/find", {});
  const take = useTell("servers/use");
  const ignore = useTell("servers/ignore");
  const fault = faultOfResult(found) ?? faultOfResult(take) ?? faultOfResult(ignore);
  const servers = found.data?.servers ?? [];
  return (
    <Group id="servers" title={t("settings.servers")} about={t("settings.serversAbout")}>
      {fault && <FaultCard fault={fault} fixes={{ retry: () => void found.refetch() }} className="m-3" />}
      {servers.length === 0 && (
        <p className="px-4 py-3 text-base text-ink-2">
          {found.isPending ? t("settings.serversLooking") : t("settings.serversNone")}
        </p>
      )}
      {servers.map((server) => (
        <Server
          key={server.id}
          server={server}
          busy={take.isPending || ignore.isPending}
          use={() =>
            take.mutate(
              { id: server.id },
              {
                onSuccess: () => {
                  void found.refetch();
                  say(t("settings.serverUsedNow"));
                },
              },
            )
          }
          ignore={(ignored) =>
            ignore.mutate({ id: server.id, ignored }, { onSuccess: () => void found.refetch() })
          }
        />
      ))}
      <div className="px-4 py-3">
        <Button size="sm" busy={found.isFetching} onClick={() => void found.refetch()}>
          {t("settings.serversAgain")}
        </Button>
      </div>
    </Group>
  );
}

function Server({
  server,
  busy,
  use,
  ignore,
}: {
  server: ForeignServer;
  busy: boolean;
  use: () => void;
  ignore: (ignored: boolean) => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const name = t(`settings.serverKinds.${server.kind}`);
  const parts = [
    t("settings.serverPort", { port: String(server.port) }),
    server.pid === undefined ? undefined : t("bar.process", { pid: server.pid }),
    server.memoryBytes === undefined
      ? undefined
      : t("settings.serverRam", { size: format.bytes(server.memoryBytes) }),
    server.deviceBytes === undefined || server.deviceBytes === 0
      ? undefined
      : t("settings.serverDevices", { size: format.bytes(server.deviceBytes) }),
    server.wantsKey
      ? t("settings.serverWantsKey")
      : t("settings.serverModels", { count: server.models.length }),
    server.used ? t("settings.serverUsed") : server.ignored ? t("settings.serverIgnored") : undefined,
  ];
  return (
    <Row name={name} about={parts.filter((part) => part !== undefined).join(", ")}>
      {!server.used && !server.wantsKey && server.models.length > 0 && (
        <Button size="sm" disabled={busy} aria-label={t("settings.serverUseNamed", { name })} onClick={use}>
          {t("settings.serverUse")}
        </Button>
      )}
      <Button
        size="sm"
        look="quiet"
        disabled={busy}
        aria-label={t(server.ignored ? "settings.serverNoticeNamed" : "settings.serverIgnoreNamed", { name })}
        onClick={() => ignore(!server.ignored)}
      >
        {server.ignored ? t("settings.serverNotice") : t("settings.serverIgnore")}
      </Button>
    </Row>
  );
}
