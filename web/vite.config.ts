import { join } from "node:path";

import { defineConfig } from "vite";

const SRC = join(import.meta.dirname, "src");

/** What a browser loads: on public pages, on the owner's, and on the operator's. Each is a build of its own, so that no page waits for a shared file. */
const ENTRIES: Readonly<Record<string, string>> = {
  client: join(SRC, "client.tsx"),
  owner: join(SRC, "owner", "client.tsx"),
  operator: join(SRC, "operator", "client.tsx"),
};

/** With `--ssr` the server's bundle of one file, otherwise the files of the entry that is the mode, with hashed names. */
export default defineConfig(({ isSsrBuild, mode }) => ({
  root: import.meta.dirname,
  // Nothing of the environment gets into the bundle.
  envPrefix: "PAGES_HAVE_NO_VARIABLES_",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    // The first build empties the folder, and the others add their files.
    emptyOutDir: mode !== "owner" && mode !== "operator",
    // The policy of the pages allows no inline data but images, and each style is a file.
    assetsInlineLimit: 0,
    ...(isSsrBuild === true
      ? { rolldownOptions: { input: join(SRC, "server.tsx"), output: { entryFileNames: "server.js" } } }
      : { manifest: true, modulePreload: false, rolldownOptions: { input: ENTRIES[mode] ?? "" } }),
  },
  // The service installs none of the packages that the pages are made with.
  ssr: { noExternal: true },
}));
