import { useNavigate } from "@tanstack/react-router";
import { ArrowDownToLine, ArrowLeft, CircleStop, X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Bar } from "@/components/Bar";
import { Button, IconButton } from "@/components/Button";
import { Columns } from "@/components/Columns";
import { FaultCard } from "@/components/FaultCard";
import { Spinner } from "@/components/Spinner";
import { say } from "@/components/Toasts";
import { FitPill } from "@/features/picker/pills";
import { faultTitle } from "@/i18n/faults";
import { useFormat } from "@/i18n/format";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import { isActive, useLive } from "@/state/live";
import type { Fault, HubVariant, Transfer } from "@/wire/wire";

/** What one repository holds, and what each of its models would do here: read from their headers, not guessed. */
export function HubRepo({
  repo,
  onModel,
  onClose,
}: {
  repo: string;
  onModel: (id: string) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const list = useAsk("hub/variants", { repo });
  const transfers = useLive((live) => live.transfers);
  const fault = faultOfResult(list);
  const retry = () => void list.refetch();
  const toToken = () => void navigate({ to: "/settings", search: { section: "hub" } });
  const data = list.data;
  const failed = data?.variants
    .map((variant) => transfers[variant.id])
    .find((transfer) => transfer?.state === "failed");

  return (
    <article className="mx-auto max-w-[820px] px-5 py-7 sm:px-7" aria-label={repo}>
      <div className="flex items-start gap-x-3 gap-y-1 max-lg:flex-col">
        <IconButton
          label={t("models.close")}
          side="bottom"
          className="shrink-0 max-lg:-mt-3 max-lg:-ml-2 lg:order-last lg:-mr-2"
          onClick={onClose}
        >
          <ArrowLeft size={17} className="lg:hidden" />
          <X size={17} className="max-lg:hidden" />
        </IconButton>
        <div className="min-w-0 flex-1">
          <h2 className="text-xl font-semibold break-words">{repo}</h2>
          {data && (
            <p className="mt-0.5 text-base text-ink-2">
              {data.licence ? `${t("models.licence")}: ${data.licence} · ` : ""}
              <a href={data.url} target="_blank" rel="noreferrer">
                {t("hub.page")}
              </a>
            </p>
          )}
        </div>
      </div>

      {list.isLoading && (
        <p className="mt-6 flex items-center gap-2 text-base text-ink-3" role="status">
          <Spinner size={14} /> {t("hub.reading")}
        </p>
      )}
      {fault && (
        <FaultCard
          fault={fault}
          className="mt-5"
          fixes={{ retry, checkConnection: retry, setToken: toToken, chooseOtherModel: onClose }}
        />
      )}
      {data && data.gate !== "open" && (
        <div className="mt-5 rounded-lg bg-warn-soft px-4 py-3 text-base text-warn-ink">
          <p>{t(`hub.gateAbout.${data.gate}`)}</p>
          <p className="mt-2 flex flex-wrap gap-2">
            <a
              href={data.url}
              target="_blank"
              rel="noreferrer"
              className="underline underline-offset-3 hover:no-underline"
            >
              {t("hub.acceptThere")}
            </a>
            <button
              type="button"
              className="underline underline-offset-3 hover:no-underline"
              onClick={toToken}
            >
              {t("hub.setToken")}
            </button>
          </p>
        </div>
      )}
      {failed?.fault && (
        <FaultCard
          fault={failed.fault}
          className="mt-5"
          fixes={{ setToken: toToken, chooseOtherModel: onClose }}
        />
      )}
      {data?.variants.length === 0 && <p className="mt-6 text-base text-ink-2">{t("hub.noModels")}</p>}
      {data && data.variants.length > 0 && (
        <>
          <p className="mt-6 mb-3 text-sm text-ink-3">{t("hub.fitAbout")}</p>
          <div className="overflow-x-auto">
            <table className="num w-full text-base whitespace-nowrap">
              <Columns
                columns={[
                  { name: t("models.columns.variant") },
                  { name: t("models.columns.size"), className: "text-right" },
                  { name: t("models.columns.fit"), className: "pl-6" },
                  { name: t("models.columns.context"), className: "text-right max-sm:hidden" },
                  { name: t("models.columns.speed"), className: "pl-6 text-right max-sm:hidden" },
                  { name: t("hub.get"), className: "pl-6", unseen: true },
                ]}
              />
              <tbody>
                {data.variants.map((variant) => (
                  <VariantRow
                    key={variant.path}
                    repo={repo}
                    variant={variant}
                    transfer={transfers[variant.id]}
                    onModel={onModel}
                  />
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </article>
  );
}

function VariantRow({
  repo,
  variant,
  transfer,
  onModel,
}: {
  repo: string;
  variant: HubVariant;
  transfer: Transfer | undefined;
  onModel: (id: string) => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const whole = variant.missing === undefined;
  const fit = useAsk("hub/fit", { repo, path: variant.path }, { enabled: whole });
  const fault = faultOfResult(fit) ?? fit.data?.fault;
  const plan = fit.data?.plan;
  const speed = plan?.speed?.decodeTps;
  const file = variant.path.split("/").at(-1) ?? variant.path;
  return (
    <tr className="border-t border-hairline">
      <th scope="row" className="max-w-36 py-2 pr-3 text-left font-normal sm:max-w-72" title={variant.path}>
        <span className="block truncate">{variant.quant === "" ? file : variant.quant}</span>
        <span className="block truncate text-xs text-ink-3">
          {variant.files > 1
            ? t("models.filesOf", { count: variant.files })
            : variant.quant === ""
              ? ""
              : file}
        </span>
      </th>
      <td className="py-2 text-right">
        {format.bytes(variant.bytes)}
        {variant.projectorBytes !== undefined && (
          <span className="block text-xs text-ink-3">
            {t("hub.projector", { size: format.bytes(variant.projectorBytes) })}
          </span>
        )}
      </td>
      <td className="py-2 pl-6">
        {fit.isLoading ? (
          <span className="inline-flex items-center gap-1.5 text-xs text-ink-3">
            <Spinner size={12} /> {t("hub.fitReading")}
          </span>
        ) : !whole ? (
          <span className="text-xs text-bad-ink">
            {t("hub.missing", { count: variant.missing?.length ?? 0 })}
          </span>
        ) : fault ? (
          <span className="block min-w-24 text-xs whitespace-normal text-ink-2">{faultTitle(t, fault)}</span>
        ) : (
          <FitPill plan={plan} />
        )}
      </td>
      <td className="py-2 text-right max-sm:hidden">{plan ? format.tokens(plan.settings.context) : "–"}</td>
      <td className="py-2 pl-6 text-right max-sm:hidden">
        {speed ? format.range(speed.low, speed.high) : "–"}
      </td>
      <td className="py-2 pl-3 text-right sm:pl-6">
        <Get variant={variant} transfer={transfer} onModel={onModel} />
      </td>
    </tr>
  );
}

/** The way to a file, and how far it is. */
function Get({
  variant,
  transfer,
  onModel,
}: {
  variant: HubVariant;
  transfer: Transfer | undefined;
  onModel: (id: string) => void;
}) {
  const { t } = useTranslation();
  const pull = useTell("models/pull");
  const stop = useTell("models/stopPull");
  const onError = ({ fault }: { fault: Fault }) => {
    // Terms that are agreed to here stand on the model's own page.
    if (fault.code === "licenceNotAccepted") onModel(variant.id);
    else say(faultTitle(t, fault));
  };
  const label = variant.quant === "" ? variant.path : variant.quant;
  if (transfer && isActive(transfer)) {
    const share = transfer.totalBytes === 0 ? undefined : transfer.doneBytes / transfer.totalBytes;
    return (
      <span className="flex items-center justify-end gap-2">
        <span className="w-24">
          <Bar label={t("picker.downloading")} value={share} />
        </span>
        <IconButton
          size="sm"
          label={t("hub.stop", { name: label })}
          onClick={() => stop.mutate({ id: transfer.id }, { onError })}
        >
          <CircleStop size={14} />
        </IconButton>
      </span>
    );
  }
  if (variant.state === "onDisk") {
    return (
      <Button size="sm" look="quiet" onClick={() => onModel(variant.id)}>
        {t("models.state.unloaded")}
      </Button>
    );
  }
  return (
    <Button
      size="sm"
      disabled={variant.missing !== undefined}
      busy={pull.isPending}
      aria-label={t("hub.download", { name: label })}
      onClick={() => pull.mutate({ model: variant.id, licenceAccepted: false }, { onError })}
    >
      <ArrowDownToLine size={14} aria-hidden="true" />
      <span className="max-sm:sr-only">
        {variant.state === "partial" ? t("models.resume") : t("models.download")}
      </span>
    </Button>
  );
}
