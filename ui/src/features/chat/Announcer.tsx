import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { spoken } from "@/lib/spoken";
import type { Writing } from "@/state/hear";

/** A reader should hear sentences, not every token. */
const EVERY_MS = 2000;

/** Reads a growing answer to screen readers, politely and in whole sentences. */
export function Announcer({ writing }: { writing: Writing | undefined }) {
  const { t } = useTranslation();
  const [said, setSaid] = useState({ turn: "", text: "" });
  const latest = useRef("");

  useEffect(() => {
    if (writing) latest.current = writing.text;
  }, [writing]);

  const turn = writing?.turn;
  useEffect(() => {
    if (turn === undefined) return;
    let from = 0;
    const timer = setInterval(() => {
      const { sentences, upTo } = spoken(latest.current, from);
      if (sentences === "") return;
      from = upTo;
      setSaid({ turn, text: sentences });
    }, EVERY_MS);
    return () => {
      clearInterval(timer);
      const rest = spoken(`${latest.current}\n\n`, from).sentences;
      setSaid({ turn, text: `${rest} ${t("chat.announceEnd")}`.trim() });
    };
  }, [turn, t]);

  const begun = turn !== undefined && said.turn !== turn;
  return (
    <div className="sr-only" aria-live="polite" aria-atomic="true">
      {begun ? t("chat.announceStart") : said.text}
    </div>
  );
}
