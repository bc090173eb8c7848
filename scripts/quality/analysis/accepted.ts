/** An accepted finding of slither, with the reason. */
export interface Accepted {
  /** Name of slither's detector. */
  check: string;
  /** Matches the finding's first sentence: contract and function. */
  where: RegExp;
  reason: string;
}

const DEADLINES =
  "Windows are 300 seconds and more; a sequencer that shifts the time by seconds moves a boundary by seconds, and at every second exactly one side is open.";
const SETTER_NAMES =
  "The parameter is named after what it sets in a function that does not read the getter; the ABI's names are for its readers.";

/** The accepted findings. `npm run analyze` fails on any other finding, and on an entry that matches none. */
export const ACCEPTED: Accepted[] = [
  {
    check: "reentrancy-no-eth",
    where: /Reentrancy in EscrowCreation\.createEscrow(WithAuthorization)?\(/,
    reason:
      "The write after the call is the fee's credit when the treasury's transfer failed. All functions that pay or read credits share one transient guard, and every campaign of the invariants re-enters during transfers (I9).",
  },
  {
    check: "unused-return",
    where: /TokenValue\._price\(/,
    reason: "startedAt of a price round decides nothing; the four other values are all checked.",
  },
  {
    check: "unused-return",
    where: /ResolverV2\._requireSigned\(/,
    reason: "The third value only says more about a problem, and any problem leads to ERC-1271 or the revert.",
  },
  { check: "shadowing-local", where: /IEscrow\.setSellerTerms\(.*\.paused/, reason: SETTER_NAMES },
  {
    check: "shadowing-local",
    where: /(initialize|_initializeAdministration)\(.*\.owner/,
    reason: SETTER_NAMES,
  },
  {
    check: "calls-loop",
    where: /EscrowAdministration\._listToken\(/,
    reason:
      "Runs over the tokens of the deployment, which the deployer chooses; one that fails stops its own deployment.",
  },
  { check: "timestamp", where: /EscrowV2\.|EscrowCreation\.|EscrowViews\./, reason: DEADLINES },
  {
    check: "timestamp",
    where: /TokenValue\._price\(/,
    reason: "The age of a price is measured in minutes to hours; seconds do not matter.",
  },
  {
    check: "timestamp",
    where: /ResolverV2\.resolveByAgreement\(/,
    reason:
      "Both parties signed the terms; a sequencer that shifts the time by seconds can end their offer by seconds.",
  },
  {
    check: "cyclomatic-complexity",
    where: /EscrowAdministration\._listToken\(/,
    reason: "A list of refusals in a row, each with an error of its own, and one write. Splitting it hides the order.",
  },
  {
    check: "dead-code",
    where: /EscrowViews\._hasDelivery\(/,
    reason: "Not dead: getEscrow calls it; slither misses the call inside a struct literal.",
  },
  {
    check: "unindexed-event-address",
    where: /IEscrow\.(Paused|Unpaused)\(|IResolver\.Rulings(Paused|Unpaused)\(/,
    reason: "The shape of OpenZeppelin's events, which block explorers and monitors know; each is rare.",
  },
  {
    check: "assembly",
    where: /BoundedCall\.|_data\(/,
    reason:
      "A call that copies no long answer and gives exactly so much gas, and the slot of an ERC-7201 struct: neither can be written otherwise.",
  },
  {
    check: "naming-convention",
    where: /\$|MAINNET_GRADUATION_SCORE|\.(ESCROW|RESOLVER|SCORE|MAIN_TOKEN) /,
    reason:
      "`$` is the ERC-7201 idiom for the storage struct; the specification names the constant; immutables are written like constants, as solhint asks.",
  },
];
