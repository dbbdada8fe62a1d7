import { transformAsync } from "@babel/core";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/**
 * React's compiler through Babel, on our own files only. The ready-made Rolldown plugin wants Node 22; this
 * project builds on Node 20.
 */
function reactCompiler(): Plugin {
  return {
    name: "plimsoll:react-compiler",
    enforce: "pre",
    transform: {
      filter: { id: { include: /\/src\/.*\.tsx?$/, exclude: /\.test\.tsx?$/ } },
      async handler(code, id) {
        const out = await transformAsync(code, {
          filename: id,
          babelrc: false,
          configFile: false,
          sourceMaps: true,
          parserOpts: { plugins: ["typescript", "jsx"] },
          plugins: [["babel-plugin-react-compiler", {}]],
        });
        return out?.code ? { code: out.code, map: out.map ?? null } : null;
      },
    },
  };
}

/** The page's own policy forbids the dev server's inline preamble and socket; the built page keeps it. */
function policyOnlyWhenBuilt(): Plugin {
  return {
    name: "plimsoll:policy-only-when-built",
    apply: "serve",
    transformIndexHtml: (html) => html.replace(/<meta\s+http-equiv="Content-Security-Policy"[^>]*>/, ""),
  };
}

export default defineConfig(({ mode }) => ({
  // Relative, because the same files are served by the desktop shell and by the HTTP host.
  base: "./",
  resolve: { tsconfigPaths: true },
  plugins: [reactCompiler(), react(), tailwind(), policyOnlyWhenBuilt()],
  define: {
    // The scripted world is for tests, screenshots and design work; a release build does not contain it.
    __SCRIPTED__: JSON.stringify(mode !== "production"),
  },
  build: {
    target: "es2022",
    outDir: mode === "scripted" ? "dist-scripted" : "dist",
    chunkSizeWarningLimit: 900,
    // A data: font or image would need a wider policy.
    assetsInlineLimit: 0,
  },
  server: { port: 18770, strictPort: true },
  preview: { port: 18771, strictPort: true },
  test: {
    environment: "jsdom",
    setupFiles: ["./src/test/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}"],
    css: false,
    restoreMocks: true,
    testTimeout: 90_000,
  },
}));
