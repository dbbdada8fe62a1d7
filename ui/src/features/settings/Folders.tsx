import { FolderPlus, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button, IconButton } from "@/components/Button";
import { FaultCard } from "@/components/FaultCard";
import { PathDialog } from "@/components/PathDialog";
import { say } from "@/components/Toasts";
import { keeperName } from "@/features/models/keepers";
import { faultTitle } from "@/i18n/faults";
import { useFormat } from "@/i18n/format";
import { reasonText } from "@/i18n/reasons";
import { faultOfResult, useAsk, useTell } from "@/state/ask";
import type { OtherFolder } from "@/wire/wire";

import { Group, Row } from "./Group";
import { MoveDialog, Moving } from "./MoveLibrary";

/** Where models lie: the library, what other programs keep, and folders of the person. */
export function Folders() {
  const { t } = useTranslation();
  const format = useFormat();
  const folders = useAsk("folders/read", {});
  const [adding, setAdding] = useState(false);
  const [moving, setMoving] = useState(false);
  const fault = faultOfResult(folders);
  return (
    <Group id="folders" title={t("settings.folders")} about={t("settings.foldersAbout")}>
      {fault && <FaultCard fault={fault} fixes={{ retry: () => void folders.refetch() }} className="m-3" />}
      {folders.data && (
        <Row
          name={t("settings.libraryFolder")}
          about={t("models.used", {
            used: format.bytes(folders.data.usedBytes),
            free: format.bytes(folders.data.freeBytes),
          })}
        >
          <code className="font-mono text-sm break-all">{folders.data.library}</code>
          {folders.data.movingTo === undefined && (
            <Button size="sm" onClick={() => setMoving(true)}>
              {t("settings.moveLibrary")}
            </Button>
          )}
        </Row>
      )}
      {folders.data?.missing && (
        <p className="px-4 py-3 text-base text-warn-ink">{t("settings.folderMissing")}</p>
      )}
      {folders.data?.movingTo !== undefined && <Moving to={folders.data.movingTo} />}
      {folders.data?.others.map((other) => (
        <Other key={`${other.keeper} ${other.path}`} other={other} />
      ))}
      <div className="px-4 py-3">
        <Button size="sm" look="quiet" onClick={() => setAdding(true)}>
          <FolderPlus size={14} aria-hidden="true" />
          {t("settings.folderAdd")}
        </Button>
      </div>
      {moving && <MoveDialog onClose={() => setMoving(false)} />}
      {adding && <AddDialog onClose={() => setAdding(false)} />}
    </Group>
  );
}

function Other({ other }: { other: OtherFolder }) {
  const { t } = useTranslation();
  const format = useFormat();
  const remove = useTell("folders/remove");
  return (
    <div className="px-4 py-3">
      <div className="flex items-start gap-3">
        <div className="min-w-0 flex-1">
          <p className="text-base">
            {keeperName(t, other.keeper)}
            <span className="num ml-2 text-sm text-ink-3">
              {t("settings.folderHolds", { count: other.models, size: format.bytes(other.bytes) })}
            </span>
          </p>
          <code className="block font-mono text-sm break-all text-ink-2">{other.path}</code>
        </div>
        {other.named && (
          <IconButton
            size="sm"
            label={t("settings.folderRemove", { path: other.path })}
            disabled={remove.isPending}
            onClick={() =>
              remove.mutate({ path: other.path }, { onError: ({ fault }) => say(faultTitle(t, fault)) })
            }
          >
            <X size={15} />
          </IconButton>
        )}
      </div>
      {other.problems && (
        <ul className="mt-1.5 text-sm text-warn-ink">
          {other.problems.map((problem) => (
            <li key={JSON.stringify(problem)} className="break-words">
              {reasonText(t, format, problem)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const add = useTell("folders/add");
  return (
    <PathDialog
      title={t("settings.folderAdd")}
      about={t("settings.folderAddAbout")}
      label={t("settings.folderAddLabel")}
      placeholder={t("settings.folderAddPlaceholder")}
      go={t("settings.folderAddGo")}
      busy={add.isPending}
      fault={faultOfResult(add)}
      onClose={onClose}
      onGo={(path) => add.mutate({ path }, { onSuccess: onClose })}
    />
  );
}
