// `npm run pictures`: pictures of the web pages of a running service, each at four widths, light and dark.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Browser } from "playwright-core";
import { z } from "zod";

import { readArguments, refuseArguments } from "../../scripts/command/arguments.ts";
import { openBrowser } from "../fixtures/browser.ts";
import { isAlive } from "../fixtures/page-checks.ts";

const HELP = `usage: npm run pictures -- [--url URL] [--out-dir DIR] [--only NAME,…] [--help]

Takes pictures of the web pages of a running service: market, search, the newest listing and its seller, the newest
dispute's deal, disputes, status, guides, sign-in and an address without a page. Each at 360, 390, 1,366 and 1,920 pixels, in light and
dark. Says which page is wider than its window or cuts a text.
  --url URL       the service (default http://127.0.0.1:3000)
  --out-dir DIR   where the pictures go (default .local/pictures)
  --only NAME,…   only these pages
  --help          this text`;

const WIDTHS = [360, 390, 1_366, 1_920];
const HEIGHT = 800;
const SCHEMES = ["light", "dark"] as const;

const { values } = readArguments(HELP, {
  url: { type: "string", default: "http://127.0.0.1:3000" },
  "out-dir": { type: "string", default: join(".local", "pictures") },
  only: { type: "string" },
});
const origin = URL.canParse(values.url)
  ? new URL(values.url).origin
  : refuseArguments(`--url: "${values.url}" isn't a URL`);
const outDir = values["out-dir"];

const listingsAnswer = z.object({ data: z.array(z.object({ serviceId: z.string(), sellerAddress: z.string() })) });
const disputesAnswer = z.object({ data: z.array(z.object({ escrowId: z.string(), network: z.string() })) });

async function read<Body>(path: string, body: z.ZodType<Body>): Promise<Body> {
  const answer = await fetch(origin + path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return body.parse(await answer.json());
}

/** Pages by the name of their pictures. One that needs a listing or a dispute is left out where nothing is listed or disputed. */
async function pagesOf(): Promise<Record<string, string>> {
  const [newest] = (await read("/api/v1/market/listings?limit=1", listingsAnswer)).data;
  // A service without an admin key has no such page.
  const hasOperator = (await fetch(`${origin}/operator`)).ok;
  const [disputed] = (await read("/api/v1/market/disputes?limit=1", disputesAnswer)).data;
  return {
    market: "/",
    search: "/search?q=report",
    ...(newest && { listing: `/listings/${newest.serviceId}`, agent: `/agents/${newest.sellerAddress}` }),
    ...(disputed && { deal: `/deals/${disputed.escrowId}?network=${disputed.network}` }),
    disputes: "/disputes",
    status: "/status",
    guides: "/guides",
    guide: "/guides/deals",
    "sign-in": "/me",
    ...(hasOperator && { operator: "/operator" }),
    "no-page": "/no/page",
  };
}

// Runs inside of the browser, whose types this program doesn't have. A text is cut if its box hides a part of it.
const FAULTS = `(() => {
  const wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const cut = [...document.querySelectorAll("body *")].filter((element) => {
    const { overflowX, textOverflow } = getComputedStyle(element);
    const hides = ["hidden", "clip"].includes(overflowX) && textOverflow !== "ellipsis";
    return hides && element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 1 && element.textContent.trim() !== "";
  });
  return [
    ...(wider > 0 ? ["is " + wider + " pixels wider than the window"] : []),
    ...cut.map((element) => "cuts: " + element.textContent.trim().slice(0, 60)),
  ];
})()`;

/** Takes the pictures of a page. @returns what is wrong on them */
async function take(browser: Browser, name: string, path: string): Promise<string[]> {
  const faults: string[] = [];
  for (const colorScheme of SCHEMES) {
    const context = await browser.newContext({ colorScheme, reducedMotion: "reduce" });
    const page = await context.newPage();
    await page.goto(origin + path);
    // The guides and an error have no script.
    if ((await page.locator("script[src]").count()) > 0) await isAlive(page);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      const found = await page.evaluate<string[]>(FAULTS);
      faults.push(...found.map((fault) => `${name} at ${width} pixels, ${colorScheme}: ${fault}`));
      await page.screenshot({ path: join(outDir, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
    await context.close();
  }
  return faults;
}

const pages = await pagesOf();
const wanted = values.only?.split(",") ?? Object.keys(pages);
const unknown = wanted.find((name) => pages[name] === undefined);
if (unknown !== undefined) refuseArguments(`--only: "${unknown}" is none of ${Object.keys(pages).join(", ")}`);
mkdirSync(outDir, { recursive: true });
const browser = await openBrowser();
const faults: string[] = [];
for (const name of wanted) {
  faults.push(...(await take(browser, name, pages[name] ?? "/")));
  console.log(`${name}: ${WIDTHS.length * SCHEMES.length} pictures`);
}
await browser.close();
for (const fault of faults) console.error(fault);
console.log(`The pictures are in ${outDir}.`);
process.exit(faults.length > 0 ? 1 : 0);
