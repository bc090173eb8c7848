import { CREATION_FAULTS } from "./creation.ts";
import { MOVES_FAULTS } from "./moves.ts";
import type { Mutant } from "./mutant.ts";
import { ORDER_FAULTS } from "./order.ts";
import { RESOLVER_FAULTS } from "./resolver.ts";
import { ROLES_FAULTS } from "./roles.ts";
import { SETTLEMENT_FAULTS } from "./settlement.ts";
import { VALUES_FAULTS } from "./values.ts";

/** The faults that the tests must find. */
export const MUTANTS: Mutant[] = [
  ...MOVES_FAULTS,
  ...CREATION_FAULTS,
  ...SETTLEMENT_FAULTS,
  ...VALUES_FAULTS,
  ...ROLES_FAULTS,
  ...RESOLVER_FAULTS,
  ...ORDER_FAULTS,
];
