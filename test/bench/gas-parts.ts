import { toBeHex, zeroPadValue } from "ethers";

import { AMOUNT, type GasSetup, gasSetup } from "./gas-setup.ts";

/** A step of the machine, as `debug_traceTransaction` gives it. */
interface Step {
  depth: number;
  op: string;
  /** Before the step. */
  gas: number;
  gasCost: number;
  /** The top is last. */
  stack: string[];
}

/** What one read of a slot, or one call without what runs inside of it, used. */
interface Touch {
  kind: "slot" | "account";
  /** Whose storage it is, or who is called; lower case. */
  address: string;
  /** 32 bytes; empty for calls. */
  slot: string;
  gas: number;
}

const CALLS = new Set(["CALL", "STATICCALL", "DELEGATECALL"]);
/** ERC-1967. */
const IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";

/**
 * What a deal uses for the score contract's caps and for its proxy at the settlement, step by step in the machine's own
 * trace. `capsGas` is what a creation costs more when it reads the scores; what is left of it
 * is the part "caps: the rest".
 */
export async function measureParts(capsGas: number): Promise<Record<string, number>> {
  const setup = await gasSetup();
  const { contracts, wallets, addresses, steps } = setup;
  const deal = await steps.terms(AMOUNT, addresses.usdc);
  const creation = await touchesOf(setup, (await steps.create(deal)).hash);
  await contracts.escrow.connect(wallets.seller).submitDelivery(deal.escrowId, steps.hash());
  const settlement = await touchesOf(setup, (await contracts.escrow.connect(wallets.buyer).accept(deal.escrowId)).hash);

  const score = (await contracts.score.getAddress()).toLowerCase();
  const slot = (touches: Touch[], address: string, isIt: (slot: string) => boolean): number =>
    sum(touches.filter((touch) => touch.kind === "slot" && touch.address === address && isIt(touch.slot)));
  const account = (touches: Touch[], address: string): number =>
    sum(touches.filter((touch) => touch.kind === "account" && touch.address === address));
  const scoreImplementation = `0x${(
    await setup.connection.ethers.provider.getStorage(score, IMPLEMENTATION_SLOT)
  ).slice(-40)}`;

  const caps = {
    "caps: account of the score contract": account(creation, score),
    "caps: slot of its implementation": slot(creation, score, (found) => found === IMPLEMENTATION_SLOT),
    "caps: account of its implementation": account(creation, scoreImplementation),
    "caps: two scores": slot(creation, score, (found) => found !== IMPLEMENTATION_SLOT),
  };
  const parts = {
    ...caps,
    "caps: the rest": capsGas - Object.values(caps).reduce((all, gas) => all + gas, 0),
    "settlement: account of the score contract": account(settlement, score),
    "settlement: slot of its implementation": slot(settlement, score, (found) => found === IMPLEMENTATION_SLOT),
    "settlement: account of its implementation": account(settlement, scoreImplementation),
  };
  for (const [name, gas] of Object.entries(parts)) {
    if (gas <= 0) throw new Error(`the trace shows nothing for "${name}": has the storage moved?`);
  }
  return parts;
}

function sum(touches: Touch[]): number {
  return touches.reduce((all, { gas }) => all + gas, 0);
}

async function touchesOf({ connection }: GasSetup, hash: string): Promise<Touch[]> {
  const { structLogs: steps } = (await connection.provider.request({
    method: "debug_traceTransaction",
    params: [hash, { disableMemory: true, disableStorage: true }],
  })) as { structLogs: Step[] };
  const to = (await connection.ethers.provider.getTransaction(hash))?.to?.toLowerCase() ?? "";
  /** Whose storage each open call works on, by its depth. */
  const storages = ["", to];
  const touches: Touch[] = [];
  for (const [at, { depth, op, stack, gas, gasCost }] of steps.entries()) {
    const storage = storages[depth] ?? "";
    if (op === "SLOAD") {
      touches.push({
        kind: "slot",
        address: storage,
        slot: zeroPadValue(toBeHex(stack.at(-1) ?? "0x0"), 32),
        gas: gasCost,
      });
    } else if (CALLS.has(op)) {
      const address = toBeHex(stack.at(-2) ?? "0x0", 20);
      storages[depth + 1] = op === "DELEGATECALL" ? storage : address;
      touches.push({ kind: "account", address, slot: "", gas: gas - gasAfter(steps, at) - gasInside(steps, at) });
    }
  }
  return touches;
}

/** Index of the first step after the call at `at` has returned. */
function returned(steps: Step[], at: number): number {
  return steps.findIndex(({ depth }, index) => index > at && depth <= (steps[at]?.depth ?? 0));
}

function gasAfter(steps: Step[], at: number): number {
  return steps[returned(steps, at)]?.gas ?? 0;
}

function gasInside(steps: Step[], at: number): number {
  const first = steps[at + 1];
  const last = steps[returned(steps, at) - 1];
  if (first === undefined || last === undefined || first.depth <= (steps[at]?.depth ?? 0)) return 0;
  return first.gas - (last.gas - last.gasCost);
}
