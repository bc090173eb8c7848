/** Who holds which role on a local chain: indexes of anvil's accounts. */
export const LOCAL_ROLE_INDEX = { owner: 0, systemResolver: 1, adminResolver: 2, pauser: 3, treasury: 4 } as const;
/** A role of the contracts. */
export type LocalRole = keyof typeof LOCAL_ROLE_INDEX;
