import type { Browser } from "playwright-core";

import { isAlive } from "../../fixtures/page-checks.ts";
import { until } from "../../fixtures/until.ts";

/** How much slower than this machine the browser computes. */
export const SLOWED = 4;

/** What the search box is called. */
const BOX = "What do you need?";

/** A search box that somebody opens and types into, in milliseconds. */
export interface FirstKey {
  /** From the request of the page until its script has taken over. */
  aliveMs: number;
  /** From a key until the frame that shows it. */
  keyMs: number;
}

// Runs inside of the browser, whose types this program doesn't have. The second frame begins when the first is painted.
const NOTE_TIMES = `
globalThis.times = {};
addEventListener("input", (event) => {
  requestAnimationFrame(() => requestAnimationFrame(() => { times.keyMs ??= performance.now() - event.timeStamp; }));
}, { capture: true });
new MutationObserver(() => {
  if (document.documentElement?.hasAttribute("data-alive")) times.aliveMs ??= performance.now();
}).observe(document, { attributes: true, childList: true, subtree: true });
`;

/** Opens a page without a cache in a slowed browser and types a letter into its search box. */
export async function firstKey(browser: Browser, url: string): Promise<FirstKey> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const debug = await context.newCDPSession(page);
    await debug.send("Emulation.setCPUThrottlingRate", { rate: SLOWED });
    await page.addInitScript(NOTE_TIMES);
    await page.goto(url);
    await isAlive(page);
    await page.getByLabel(BOX).press("c");
    return await until("the key is shown", async () => {
      const times = await page.evaluate<Partial<FirstKey>>("times");
      return times.keyMs !== undefined && (times as FirstKey);
    });
  } finally {
    await context.close();
  }
}
