import type { Mutant } from "../mutation/mutant.ts";

/** One small fault in one file of api/. */
export interface ApiMutant extends Mutant {
  /** Test files under test/api that should find it, run in this order. */
  tests: readonly string[];
}
