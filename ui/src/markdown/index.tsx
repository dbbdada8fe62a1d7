import { Suspense } from "react";

import { later } from "@/lib/later";

const Rendered = later(() => import("./Markdown").then((module) => module.Markdown));

/** Fetches the renderer before it is needed: the first picture does not wait for it, the first answer finds it. */
export const warmMarkdown = Rendered.warm;

/** Markdown; in the moment before the renderer is here, the same words plainly. */
export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  return (
    <Suspense fallback={<div className="prose whitespace-pre-wrap">{text}</div>}>
      <Rendered text={text} streaming={streaming} />
    </Suspense>
  );
}
