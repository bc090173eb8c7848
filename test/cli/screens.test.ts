import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { assert } from "chai";

import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { openTrader } from "../fixtures/cli.ts";
import type { Trader } from "../fixtures/cli.ts";
import { oddNodeTo } from "../fixtures/odd-node.ts";
import type { OddNode } from "../fixtures/odd-node.ts";
import { openChain } from "../fixtures/stack.ts";

const PAGES = ["docs/api/cli.md", "docs/api/cli-keys.md"];
/** `RECORD_SCREENS=1` writes what the commands show into the pages. */
const RECORDS = process.env["RECORD_SCREENS"] === "1";
const SCREEN = /```console\n(buyer|seller)\$ agent-marketplace (.+)\n([^`]*)```/g;

const FILES = {
  "listing.json": {
    title: "Token risk report",
    description: "Reads a token's contracts and holders, and writes what could go wrong.",
    category: "risk_assessment",
    price: 2.5,
    priceUnit: "per_document",
  },
  "request.json": { token: "0x42" },
  "result.json": { summary: "Three risks were found." },
};

/** Leaves out what differs from run to run. */
const masked = (text: string): string =>
  text
    // How long the machine took.
    .replaceAll(/^[A-Z][a-z ]+ …\n/gm, "")
    .replaceAll(/\b([a-z]{3})_[0-9a-f]{16,}/g, "$1_…")
    .replaceAll(/0x[0-9a-fA-F]{40,}/g, "0x…")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-…Z")
    .replaceAll(/trust \d\.\d\d/g, "trust 0.50")
    .replaceAll(/block +time/g, "block  time")
    .replaceAll(/^(base\S* +)\d+ +(?=2026)/gm, "$1…  ");

const argsOf = (line: string): string[] =>
  Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, text, word]) => text ?? word ?? "");

describe("the screens of the command line's pages", () => {
  let api: TestApi;
  let traders: Record<string, Trader>;
  let nodes: OddNode[];

  before(async () => {
    const chains = await Promise.all([openChain("base-sepolia"), openChain("base")]);
    const [sepolia, base] = await Promise.all(chains.map(({ rpcUrl }) => oddNodeTo(rpcUrl)));
    assert.ok(sepolia && base);
    nodes = [sepolia, base];
    // Other tests share the chains, so their clocks stay (test/api/sandbox moves those of copies).
    for (const node of nodes)
      node.odd = (method) => (method.startsWith("evm_") ? { kind: "result", result: "0x0" } : undefined);
    api = await startTestApi({
      env: { isLocalStack: true, rpcUrls: { "base-sepolia": sepolia.url, base: base.url } },
    });
    const [chain] = chains;
    const [buyer, seller] = await Promise.all([openTrader(api, chain), openTrader(api, chain)]);
    traders = { buyer, seller };
    for (const { home } of [buyer, seller]) {
      for (const [name, value] of Object.entries(FILES))
        await writeFile(join(home.folder, name), JSON.stringify(value));
    }
  });
  after(async () => {
    await Promise.all(Object.values(traders).map(({ home }) => home.remove()));
    await api.close();
    await Promise.all(nodes.map((node) => node.close()));
  });

  for (const file of PAGES) {
    it(`are what the commands show: ${file}`, async () => {
      let page = await readFile(file, "utf8");
      const known: Record<string, string> = {};
      const screens = Array.from(page.matchAll(SCREEN));
      assert.isAbove(screens.length, 3);
      for (const [block, who = "", line = "", shown = ""] of screens) {
        const home = traders[who]?.home;
        assert.ok(home);
        const args = argsOf(line).map((arg) => {
          const id = arg.replace(/^([a-z]{3})_…$/, (_, kind: string) => known[kind] ?? arg);
          return id in FILES ? join(home.folder, id) : id;
        });
        const { stdout, stderr } = await home.run(args);
        for (const [id, kind = ""] of stdout.matchAll(/\b(lst|txn)_[0-9a-f]+/g)) known[kind] = id;
        const real = masked(stderr + stdout);
        if (RECORDS)
          page = page.replace(block, () => `\`\`\`console\n${who}$ agent-marketplace ${line}\n${real}\`\`\``);
        else assert.strictEqual(shown, real, line);
      }
      if (RECORDS) await writeFile(file, page);
    });
  }
});
