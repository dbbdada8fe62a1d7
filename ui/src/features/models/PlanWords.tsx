import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { Columns } from "@/components/Columns";
import { CopyButton } from "@/components/CopyButton";
import { Fold } from "@/components/Fold";
import { partName } from "@/gauge/names";
import { useFormat } from "@/i18n/format";
import { reasonText } from "@/i18n/reasons";
import type { Choosable } from "@/state/models";
import type { Plan, Proof } from "@/wire/wire";

import { keeperName } from "./keepers";

/** Name and value, one a line: the quiet table of the app. */
export function Lines({ rows }: { rows: readonly (readonly [string, React.ReactNode, string?])[] }) {
  return (
    <dl className="grid grid-cols-[minmax(120px,auto)_1fr] gap-x-6 text-base">
      {rows.map(([name, value, source]) => (
        <div
          key={name}
          className="col-span-2 grid grid-cols-subgrid border-b border-hairline py-1.5 last:border-0"
        >
          <dt className="text-ink-2">{name}</dt>
          <dd className="m-0 min-w-0 break-words">
            {value}
            {source && <span className="block text-xs text-ink-3">{source}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** What the plan says in words: why, how fast, with which settings. */
export function PlanWords({ plan }: { plan: Plan }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { settings, speed } = plan;
  return (
    <div className="mt-5 flex flex-col gap-5">
      {plan.why.length > 0 && (
        <ul className="flex flex-col gap-1 text-base" aria-label={t("models.why")}>
          {plan.why.map((reason) => (
            <li key={`${reason.code}${JSON.stringify(reason.params)}`} className="flex gap-2.5">
              <span className="mt-2.25 h-0.5 w-3 shrink-0 rounded-full bg-signal" aria-hidden="true" />
              {reasonText(t, format, reason)}
            </li>
          ))}
        </ul>
      )}
      {speed ? (
        <div>
          <Lines
            rows={[
              [
                t("models.answering"),
                t("models.tokensPerS", { range: format.range(speed.decodeTps.low, speed.decodeTps.high) }),
              ],
              [
                t("models.readingPrompt"),
                t("models.tokensPerS", { range: format.range(speed.prefillTps.low, speed.prefillTps.high) }),
              ],
              [
                t("models.firstWord"),
                `${format.seconds(speed.firstTokenS.low)} – ${format.seconds(speed.firstTokenS.high)}`,
                t("models.firstWordAbout", { n: speed.firstTokenS.promptTokens }),
              ],
              ...(speed.turnS
                ? [
                    [
                      t("models.wholeAnswer"),
                      `${format.seconds(speed.turnS.low)} – ${format.seconds(speed.turnS.high)}`,
                      t("models.wholeAnswerAbout", { n: speed.turnS.answerTokens }),
                    ] as [string, string, string],
                  ]
                : []),
            ]}
          />
          <p className="mt-1.5 text-xs text-ink-3">{t(`models.basis.${speed.basis}`)}</p>
        </div>
      ) : (
        <p className="text-sm text-ink-3">{t("fit.speedUnknown")}</p>
      )}
      <Fold label={t("models.settings")}>
        <div className="mt-2">
          <Lines
            rows={[
              [t("models.settingNames.context"), format.number(settings.context, 0)],
              [t("models.settingNames.slots"), format.number(settings.slots, 0)],
              [t("models.settingNames.kv"), `${settings.kvTypeK} / ${settings.kvTypeV}`],
              [t("models.settingNames.batch"), `${settings.batch} / ${settings.ubatch}`],
              [t("models.settingNames.gpuLayers"), format.number(settings.gpuLayers, 0)],
              ...(settings.hostExpertLayers > 0
                ? [
                    [
                      t("models.settingNames.hostExperts"),
                      format.number(settings.hostExpertLayers, 0),
                    ] as const,
                  ]
                : []),
              [t("models.settingNames.promptCache"), format.bytes(settings.cacheRamMib * 1024 ** 2)],
            ]}
          />
          <div className="mt-3 flex items-start gap-2 rounded-md bg-(--code-ground) py-1.5 pr-1.5 pl-3 ring-1 ring-hairline">
            <code className="min-w-0 flex-1 py-1 font-mono text-xs break-words">
              {settings.arguments.join(" ")}
            </code>
            <CopyButton label={t("app.copy")} text={() => settings.arguments.join(" ")} />
          </div>
        </div>
      </Fold>
    </div>
  );
}

/** Planned beside measured, after the load that proved it. */
export function ProofTable({ proof }: { proof: Proof }) {
  const { t } = useTranslation();
  const format = useFormat();
  const rows: [string, string, string][] = [
    [t("models.proofMemory"), format.bytes(proof.plannedBytes), format.bytes(proof.residentBytes)],
    ...proof.parts.map((part): [string, string, string] => [
      partName(t, part.code),
      format.bytes(part.plannedBytes),
      part.reportedBytes === undefined ? "–" : format.bytes(part.reportedBytes),
    ]),
    ...proof.pools
      .filter((pool) => pool.device !== undefined)
      .map((pool): [string, string, string] => [
        pool.name,
        pool.plannedBytes === undefined ? "–" : format.bytes(pool.plannedBytes),
        format.bytes(pool.weightsBytes + pool.contextBytes + pool.computeBytes),
      ]),
    [
      t("models.proofSpeed"),
      proof.plannedTps ? format.range(proof.plannedTps.low, proof.plannedTps.high) : "–",
      format.number(proof.decodeTps),
    ],
    [t("models.proofFirst"), "–", format.seconds(proof.firstTokenMs / 1000)],
  ];
  return (
    <>
      {proof.findings.length > 0 && (
        <ul className="mb-3 flex flex-col gap-1.5 text-base text-ink-2">
          {proof.findings.map((finding) => (
            <li key={`${finding.code}${JSON.stringify(finding.params)}`} className="flex gap-2.5">
              <span className="mt-2.25 h-0.5 w-3 shrink-0 rounded-full bg-signal" aria-hidden="true" />
              {reasonText(t, format, finding)}
            </li>
          ))}
        </ul>
      )}
      <table className="num w-full text-base">
        <Columns
          columns={[
            { name: t("models.proof"), unseen: true },
            { name: t("models.proofPlanned"), className: "w-28 text-right" },
            { name: t("models.proofMeasured"), className: "w-28 text-right" },
          ]}
        />
        <tbody>
          {rows.map(([label, planned, measured], index) => (
            <tr key={label} className="border-t border-hairline">
              <th
                scope="row"
                className={`py-1.5 text-left font-normal text-ink-2 ${index > 0 && index <= proof.parts.length ? "pl-4" : ""}`}
              >
                {label}
              </th>
              <td className="py-1.5 text-right">{planned}</td>
              <td className="py-1.5 text-right font-medium">{measured}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** A fact of the catalog that nobody confirmed, by its name there. */
function unverifiedText(t: TFunction, fact: string): string {
  switch (fact) {
    case "parameters":
    case "activeParameters":
    case "contextTrained":
    case "tools":
    case "reasoning":
    case "modalities":
    case "licence":
    case "shape":
      return t(`models.unverifiedFact.${fact}`);
    default:
      return fact;
  }
}

export function Facts({ model }: { model: Choosable }) {
  const { t } = useTranslation();
  const format = useFormat();
  const rows: [string, React.ReactNode][] = [];
  const { entry, plan, disk } = model;
  if (entry) rows.push([t("models.publisher"), entry.publisher]);
  if (entry) {
    rows.push([
      t("models.licence"),
      <a key="licence" href={entry.licence.url} target="_blank" rel="noreferrer">
        {entry.licence.name}
      </a>,
    ]);
  } else if (disk?.licence) rows.push([t("models.licence"), disk.licence]);
  if (entry && entry.rankReason !== "") {
    rows.push([t("models.rank"), t("models.rankValue", { rank: entry.rank, reason: entry.rankReason })]);
  }
  if (entry?.unverified) {
    rows.push([
      t("models.unverifiedFacts"),
      entry.unverified.map((fact) => unverifiedText(t, fact)).join(", "),
    ]);
  }
  const facts = plan?.model;
  if (facts) {
    rows.push([
      t("models.parameters"),
      facts.activeParameters < facts.parameters
        ? t("models.active", {
            active: format.count(facts.activeParameters),
            total: format.count(facts.parameters),
          })
        : format.count(facts.parameters),
    ]);
    rows.push([t("models.trained"), t("models.trainedValue", { size: format.tokens(facts.contextTrained) })]);
    rows.push([t("models.architecture"), facts.architecture]);
  }
  if (entry && entry.abilities.length > 0) {
    rows.push([t("models.abilitiesTitle"), entry.abilities.map((one) => abilityText(t, one)).join(", ")]);
  }
  if (disk?.keeper) rows.push([t("models.keeper"), keeperName(t, disk.keeper)]);
  if (disk)
    rows.push([
      t("models.path"),
      <span key="path" className="font-mono text-xs">
        {disk.path}
      </span>,
    ]);
  return <Lines rows={rows} />;
}

function abilityText(t: TFunction, ability: string): string {
  switch (ability) {
    case "chat":
    case "tools":
    case "vision":
    case "reasoning":
    case "code":
    case "base":
      return t(`models.abilities.${ability}`);
    default:
      return ability;
  }
}
