import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/Button";
import { Toggle } from "@/components/Choice";
import { FaultCard } from "@/components/FaultCard";
import { faultOfResult, useTell } from "@/state/ask";

import { Group, Row } from "./Group";

/** Titles, and conversations that come from elsewhere. */
export function Conversations({ titles, onTitles }: { titles: boolean; onTitles: (on: boolean) => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  const take = useTell("conversations/import");
  const fault = faultOfResult(take);

  async function read(file: File | undefined) {
    if (!file) return;
    take.mutate(
      { text: await file.text() },
      { onSuccess: (made) => void navigate({ to: "/c/$id", params: { id: made.id } }) },
    );
  }

  return (
    <Group id="conversations" title={t("settings.conversations")}>
      <Row name={t("settings.titles")} about={t("settings.titlesAbout")}>
        <Toggle label={t("settings.titles")} checked={titles} onChange={onTitles} />
      </Row>
      <Row name={t("settings.import")} about={t("settings.importAbout")}>
        <input
          ref={input}
          type="file"
          accept="application/json,.json"
          aria-label={t("settings.importFile")}
          className="sr-only"
          tabIndex={-1}
          onChange={(event) => {
            void read(event.target.files?.[0]);
            // The same file can be chosen again.
            event.target.value = "";
          }}
        />
        <Button size="sm" busy={take.isPending} onClick={() => input.current?.click()}>
          {t("settings.importGo")}
        </Button>
      </Row>
      {fault && <FaultCard fault={fault} fixes={{ retry: () => input.current?.click() }} className="m-3" />}
    </Group>
  );
}
