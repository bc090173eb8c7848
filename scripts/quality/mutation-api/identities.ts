import type { ApiMutant } from "./api-mutant.ts";

const LINKS = "features/erc8004/links.ts";
const FILES = "features/erc8004/files.ts";
const REGISTRY = "chain/identity-registry.ts";
const LINKING = ["erc8004/links.test.ts"];
const READING = ["erc8004/files.test.ts"];

/** Faults in the identities of agents and in the files about them. */
export const IDENTITY_FAULTS: ApiMutant[] = [
  {
    fault: "another wallet's identity is linked",
    file: LINKS,
    from: "if (wallet === null || !isAddressEqual(wallet, walletAddress)) {",
    to: "if (wallet === null) {",
    tests: LINKING,
  },
  {
    fault: "an identity stays with the agent that had it",
    file: LINKS,
    from: "await links.deleteMany({ identity }, { session });",
    to: "await links.deleteMany({ _id }, { session });",
    tests: LINKING,
  },
  {
    fault: "a repeat links again",
    file: LINKS,
    from: "if (known?.identity === identity) return known;",
    to: "void known;",
    tests: LINKING,
  },
  {
    fault: "the wallet of another chain's registry is believed",
    file: REGISTRY,
    from: "if (actual !== CHAIN_IDS[network]) throw",
    to: "if (actual === 0) throw",
    tests: LINKING,
  },
  {
    fault: "new files count towards no window",
    file: FILES,
    from: "await countClient(ip);",
    to: "void countClient;",
    tests: READING,
  },
  {
    fault: "an agent's file is public before it links an identity",
    file: FILES,
    from: "if (linked.length === 0) throw",
    to: "if (linked.length < 0) throw",
    tests: READING,
  },
  {
    fault: "a suspended agent's file says that it is active",
    file: "features/erc8004/registration-file.ts",
    from: "active: moderation === undefined,",
    to: "active: true,",
    tests: READING,
  },
];
