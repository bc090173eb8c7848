import { z } from "zod";

import { KYA_LEVEL_RULES, KYA_LEVELS } from "../../config/constants.ts";
import type { KyaLevel } from "../../config/constants.ts";

/** A KYA level in a request or an answer. */
export const kyaLevelSchema = z.literal(KYA_LEVELS);

/** The KYA status of an agent in answers. */
export const kyaOutput = z
  .object({
    level: kyaLevelSchema,
    name: z.string(),
    maxJobValueUsd: z
      .number()
      .nullable()
      .meta({ description: "Largest job in US dollars that this level may buy; null for unlimited" }),
  })
  .meta({ id: "KyaStatus" });

/** The KYA status that a level gives. */
export function kyaStatusOf(level: KyaLevel): z.input<typeof kyaOutput> {
  return { level, ...KYA_LEVEL_RULES[level] };
}
