/** True in every build but the release: see vite.config.ts. */
declare const __SCRIPTED__: boolean;
