import { z } from "zod";

import { randomFrom } from "../../fixtures/random.ts";

const SEED = 38;
/** Templates have far more texts than are taken of them. */
const MOST_ATTEMPTS = 100;

const noise = z.strictObject({
  /** What `{name}` in a template stands for: one of these. */
  pools: z.record(z.string(), z.array(z.string())),
  templates: z.array(
    z.strictObject({
      count: z.int().positive(),
      key: z.string(),
      value: z.union([z.string(), z.record(z.string(), z.string())]),
    }),
  ),
});

/** Entries about other business of the same agent: the same ones on each call. */
export function generateNoise(source: unknown): { key: string; value: unknown }[] {
  const { pools, templates } = noise.parse(source);
  const random = randomFrom(SEED);
  const upTo = (most: number) => 1 + Math.floor(random() * most);
  const padded = (number: number) => String(number).padStart(2, "0");
  const numbers: Readonly<Record<string, () => string>> = {
    price: () => (upTo(400) / 100).toFixed(2),
    day: () => String(upTo(28)),
    hour: () => String(7 + upTo(12)),
    number: () => String(10 + upTo(89)),
    stars: () => String(upTo(5)),
    date: () => `2026-${padded(upTo(10))}-${padded(upTo(28))}`,
  };
  function pick(name: string): string {
    const pool = pools[name];
    const chosen = pool === undefined ? numbers[name]?.() : pool[upTo(pool.length) - 1];
    if (chosen === undefined) throw new RangeError(`noise.json has no pool "${name}"`);
    return chosen;
  }
  /** A name means the same in key and value. */
  function fill({ key, value }: { key: string; value: unknown }): { key: string; value: unknown } {
    const chosen = new Map<string, string>();
    const filled = JSON.stringify({ key, value }).replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const word = chosen.get(name) ?? pick(name);
      chosen.set(name, word);
      return word;
    });
    return JSON.parse(filled) as { key: string; value: unknown };
  }

  const seen = new Set<string>();
  function fillAnew(template: { key: string; value: unknown }): { key: string; value: unknown } {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const filled = fill(template);
      const text = JSON.stringify(filled.value);
      if (seen.has(text)) continue;
      seen.add(text);
      return filled;
    }
    throw new RangeError(`noise.json has too few texts for "${template.key}"`);
  }
  const filled = templates.flatMap((template) => Array.from({ length: template.count }, () => fillAnew(template)));
  return filled.map(({ key, value }, index) => ({ key: `${key.replaceAll(" ", "-")}/${index + 1}`, value }));
}
