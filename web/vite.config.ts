import { join } from "node:path";

import { defineConfig } from "vite";

const SRC = join(import.meta.dirname, "src");

/** Two builds: with `--ssr` the server's bundle of one file, otherwise the files that browsers load, with hashed names. */
export default defineConfig(({ isSsrBuild }) => ({
  root: import.meta.dirname,
  // Nothing of the environment gets into the bundle.
  envPrefix: "PAGES_HAVE_NO_VARIABLES_",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    emptyOutDir: true,
    // The policy of the pages allows no inline data but images, and each style is a file.
    assetsInlineLimit: 0,
    ...(isSsrBuild === true
      ? { rolldownOptions: { input: join(SRC, "server.tsx"), output: { entryFileNames: "server.js" } } }
      : { manifest: true, modulePreload: false, rolldownOptions: { input: join(SRC, "client.tsx") } }),
  },
  // The service installs none of the packages that the pages are made with.
  ssr: { noExternal: true },
}));
