import type { ComponentProps, ReactNode } from "react";
import { type Components, Streamdown } from "streamdown";

import { CodeBlock } from "./CodeBlock";
import { segments } from "./segments";

/*
 * The only file that knows the Markdown library. Its sanitiser stays on; images of other hosts are never
 * fetched, because a model's answer must not be able to call home; its own controls are replaced by ours.
 */

const own = {
  code: ({ className, children }: ComponentProps<"code">) => (
    <CodeBlock code={plainText(children)} language={/language-(\S+)/.exec(className ?? "")?.[1] ?? ""} />
  ),
  inlineCode: ({ children }: ComponentProps<"code">) => <code>{children}</code>,
  a: ({ href, children }: ComponentProps<"a">) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  img: ({ alt, src }: ComponentProps<"img">) =>
    typeof src === "string" && src.startsWith("data:image/") ? (
      <img src={src} alt={alt ?? ""} className="max-w-full rounded-md" />
    ) : (
      <span className="text-ink-3">[{alt ?? src}]</span>
    ),
  table: ({ children }: ComponentProps<"table">) => (
    <div className="table-scroll">
      <table>{children}</table>
    </div>
  ),
};

const components = {
  ...own,
  ...plain("h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "blockquote", "hr", "strong"),
  ...plain("thead", "tbody", "tr", "th", "td", "sup", "sub", "section"),
} as Components;

/** The library's classes are left behind: `prose.css` has the look. */
function plain(...tags: (keyof React.JSX.IntrinsicElements)[]): Components {
  return Object.fromEntries(
    tags.map((Tag) => [
      Tag,
      ({ node: _node, className: _class, ...rest }: Record<string, unknown>) => <Tag {...rest} />,
    ]),
  );
}

function plainText(children: ReactNode): string {
  if (typeof children === "string") return children;
  if (Array.isArray(children)) return children.map(plainText).join("");
  return "";
}

const NO_LINK_DIALOG = { enabled: false };

/** Markdown as it comes, a word at a time, or a finished text. */
export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  const parts = segments(text);
  return (
    <div className="prose">
      {parts.map((part, index) =>
        part.kind === "code" ? (
          // Segments are only ever appended: the place is the identity.
          // oxlint-disable-next-line react/no-array-index-key
          <CodeBlock key={index} code={part.code} language={part.language} />
        ) : (
          <Streamdown
            // oxlint-disable-next-line react/no-array-index-key
            key={index}
            className="contents"
            parseIncompleteMarkdown={streaming && index === parts.length - 1}
            isAnimating={false}
            controls={false}
            linkSafety={NO_LINK_DIALOG}
            components={components}
          >
            {part.text}
          </Streamdown>
        ),
      )}
    </div>
  );
}
