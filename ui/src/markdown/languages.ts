import type { LanguageRegistration } from "@shikijs/core";

type Loader = () => Promise<{ default: LanguageRegistration[] }>;

/** The grammars we bring, each loaded when the first block in its language appears. */
const GRAMMARS = {
  bash: () => import("@shikijs/langs/bash"),
  c: () => import("@shikijs/langs/c"),
  cpp: () => import("@shikijs/langs/cpp"),
  csharp: () => import("@shikijs/langs/csharp"),
  css: () => import("@shikijs/langs/css"),
  diff: () => import("@shikijs/langs/diff"),
  docker: () => import("@shikijs/langs/docker"),
  go: () => import("@shikijs/langs/go"),
  html: () => import("@shikijs/langs/html"),
  ini: () => import("@shikijs/langs/ini"),
  java: () => import("@shikijs/langs/java"),
  javascript: () => import("@shikijs/langs/javascript"),
  json: () => import("@shikijs/langs/json"),
  kotlin: () => import("@shikijs/langs/kotlin"),
  lua: () => import("@shikijs/langs/lua"),
  make: () => import("@shikijs/langs/make"),
  markdown: () => import("@shikijs/langs/markdown"),
  php: () => import("@shikijs/langs/php"),
  powershell: () => import("@shikijs/langs/powershell"),
  python: () => import("@shikijs/langs/python"),
  ruby: () => import("@shikijs/langs/ruby"),
  rust: () => import("@shikijs/langs/rust"),
  sql: () => import("@shikijs/langs/sql"),
  swift: () => import("@shikijs/langs/swift"),
  toml: () => import("@shikijs/langs/toml"),
  tsx: () => import("@shikijs/langs/tsx"),
  typescript: () => import("@shikijs/langs/typescript"),
  xml: () => import("@shikijs/langs/xml"),
  yaml: () => import("@shikijs/langs/yaml"),
} satisfies Record<string, Loader>;

export type Grammar = keyof typeof GRAMMARS;

const ALIASES: Record<string, Grammar> = {
  sh: "bash",
  shell: "bash",
  zsh: "bash",
  console: "bash",
  "c++": "cpp",
  h: "c",
  hpp: "cpp",
  cs: "csharp",
  "c#": "csharp",
  patch: "diff",
  dockerfile: "docker",
  golang: "go",
  htm: "html",
  svg: "xml",
  js: "javascript",
  mjs: "javascript",
  node: "javascript",
  jsonc: "json",
  json5: "json",
  kt: "kotlin",
  makefile: "make",
  md: "markdown",
  ps1: "powershell",
  py: "python",
  python3: "python",
  rb: "ruby",
  rs: "rust",
  jsx: "tsx",
  ts: "typescript",
  yml: "yaml",
};

export function grammarOf(language: string): Grammar | undefined {
  const name = language.toLowerCase();
  if (Object.hasOwn(GRAMMARS, name)) return name as Grammar;
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}

export async function loadGrammar(grammar: Grammar): Promise<LanguageRegistration[]> {
  return (await GRAMMARS[grammar]()).default;
}
