import { Address, BigInt, Bytes, DataSourceContext } from "@graphprotocol/graph-ts";

import { ERC20 } from "../../generated/EscrowV2/ERC20";
import { Escrow, Token } from "../../generated/schema";

/** Symbol of a token that tells none. */
const NO_SYMBOL = "UNKNOWN";

/** Records that a token is allowed for new escrows, or that its valuation has changed. */
export function listToken(
  address: Address,
  feed: Address,
  maxPriceAge: BigInt,
  decimals: i32,
  minAmount: BigInt,
  context: DataSourceContext,
): void {
  let token = Token.load(address);
  if (token == null) {
    token = new Token(address);
    token.symbol = symbolOf(address, context);
    token.created = 0;
    token.deposited = BigInt.zero();
    token.fees = BigInt.zero();
    token.locked = BigInt.zero();
    token.paid = BigInt.zero();
    token.returned = BigInt.zero();
    token.credited = BigInt.zero();
  }
  token.decimals = decimals;
  token.listed = true;
  token.minAmount = minAmount;
  token.feed = feed;
  token.maxPriceAge = maxPriceAge;
  token.save();
}

/** Records that a token is no longer allowed for new escrows. */
export function delistToken(address: Address): void {
  const token = Token.load(address);
  if (token == null) return;
  token.listed = false;
  token.save();
}

/** Adds the deposit of a new escrow. */
export function countDeposit(escrow: Escrow): void {
  const token = Token.load(escrow.token);
  if (token == null) return;
  token.created += 1;
  token.deposited = token.deposited.plus(escrow.amount);
  token.fees = token.fees.plus(escrow.fee);
  token.locked = token.locked.plus(escrow.locked);
  token.save();
}

/** Adds what a settlement paid, and unlocks it. */
export function countSettlement(escrow: Escrow): void {
  const token = Token.load(escrow.token);
  if (token == null) return;
  token.locked = token.locked.minus(escrow.locked);
  token.paid = token.paid.plus(escrow.sellerAmount);
  token.returned = token.returned.plus(escrow.buyerAmount);
  token.save();
}

/** Adds to what waits for withdrawal, or takes from it, in token units. */
export function changeCredited(address: Bytes, amount: BigInt): void {
  const token = Token.load(address);
  if (token == null) return;
  token.credited = token.credited.plus(amount);
  token.save();
}

/**
 * The symbol known at deployment, else the token's own. Known ones need no call: a local chain forgets old states at a
 * restart, and indexing its first blocks again would wait for an answer for ever.
 */
function symbolOf(address: Address, context: DataSourceContext): string {
  const known = context.getString("tokenSymbols").split(",");
  const wanted = address.toHexString() + "=";
  for (let i = 0; i < known.length; i++) {
    if (known[i].startsWith(wanted)) return known[i].slice(wanted.length);
  }
  const asked = ERC20.bind(address).try_symbol();
  return asked.reverted || asked.value.length == 0 ? NO_SYMBOL : asked.value;
}
