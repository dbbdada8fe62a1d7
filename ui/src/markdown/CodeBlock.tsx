import { WrapText } from "lucide-react";
import { memo, useEffect, useReducer, useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/Button";
import { CopyButton } from "@/components/CopyButton";
import { cx } from "@/lib/cx";

import { GrowingLines, prepare, readyFor, type Run } from "./highlight";
import { grammarOf } from "./languages";

/** Lines of one element. Finished chunks never change, so a long block costs one chunk a frame. */
const CHUNK = 64;

/** Lines that are coloured before anything else is done: a usual block at once, a listing over some frames. */
const AT_ONCE = 80;

/** Code with its language, a copy button and colours that grow with the answer. */
export function CodeBlock({ code, language }: { code: string; language: string }) {
  const { t } = useTranslation();
  const [wrap, setWrap] = useState(false);
  const text = code.replace(/\n$/, "");
  const lines = useColouredLines(text, language);
  const chunks: Run[][][] = [];
  for (let from = 0; from < lines.length; from += CHUNK) chunks.push(lines.slice(from, from + CHUNK));

  return (
    <div className="group/code my-3 overflow-hidden rounded-lg bg-(--code-ground) ring-1 ring-hairline">
      <div className="flex h-9 items-center gap-1 border-b border-hairline pr-1 pl-3.5 text-xs text-ink-3">
        <span className="flex-1">{language === "" ? t("chat.plainText") : language}</span>
        <IconButton
          label={t("chat.wrap")}
          size="sm"
          aria-pressed={wrap}
          className={cx(wrap && "text-sea-ink")}
          onClick={() => setWrap(!wrap)}
        >
          <WrapText size={15} />
        </IconButton>
        <CopyButton label={t("chat.copyCode")} text={() => text} />
      </div>
      <div
        // Wide code scrolls sideways, and a scrolling place must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label={language === "" ? t("chat.plainText") : language}
        className="overflow-x-auto focus-visible:-outline-offset-2"
      >
        <code className={cx("code-lines", wrap && "!whitespace-pre-wrap")}>
          {chunks.map((chunk, index) => (
            // Chunks are only ever appended: the place is the identity.
            // oxlint-disable-next-line react/no-array-index-key
            <Chunk key={index} lines={chunk} />
          ))}
        </code>
      </div>
    </div>
  );
}

const Chunk = memo(
  function Chunk({ lines }: { lines: Run[][] }) {
    return (
      <span className="code-chunk" style={{ containIntrinsicSize: `auto ${lines.length * 20}px` }}>
        {lines.map((line, index) => (
          // oxlint-disable-next-line react/no-array-index-key
          <span key={index} className="block min-h-5">
            {line.map((run, at) =>
              run.kind === "" ? (
                run.text
              ) : (
                // oxlint-disable-next-line react/no-array-index-key
                <span key={at} className={run.kind}>
                  {run.text}
                </span>
              ),
            )}
          </span>
        ))}
      </span>
    );
  },
  (a, b) => a.lines.length === b.lines.length && a.lines.every((line, index) => line === b.lines[index]),
);

/** Every line with its colours; plain until the grammar is here, and for languages we do not bring. */
function useColouredLines(text: string, language: string): Run[][] {
  // The lines remember what they have coloured: a second call with the same text goes on.
  "use no memo";
  const grammar = grammarOf(language);
  const [lines] = useState(() => new GrowingLines());
  const [ready, setReady] = useState(() => grammar !== undefined && readyFor(grammar) !== undefined);

  useEffect(() => {
    if (!grammar || ready) return;
    let here = true;
    prepare(grammar)
      .then(() => here && setReady(true))
      .catch(() => {
        // Without colours the code is still the code.
      });
    return () => {
      here = false;
    };
  }, [grammar, ready]);

  const [, goOn] = useReducer((turn: number) => turn + 1, 0);
  const coloured = lines.of(text, ready ? grammar : undefined, AT_ONCE);
  useEffect(() => {
    if (coloured.whole) return;
    const frame = requestAnimationFrame(goOn);
    return () => cancelAnimationFrame(frame);
  }, [coloured]);
  return coloured.lines;
}
