import { Address, BigInt, DataSourceContext } from "@graphprotocol/graph-ts";

import { ERC20 } from "../../generated/EscrowV2/ERC20";
import { Token } from "../../generated/schema";

/** Symbol of a token that tells none. */
const NO_SYMBOL = "UNKNOWN";

/** Records that a token is allowed for new escrows, or that its valuation has changed. */
export function listToken(
  address: Address,
  feed: Address,
  decimals: i32,
  minAmount: BigInt,
  context: DataSourceContext,
): void {
  let token = Token.load(address);
  if (token == null) {
    token = new Token(address);
    token.symbol = symbolOf(address, context);
  }
  token.decimals = decimals;
  token.listed = true;
  token.minAmount = minAmount;
  token.feed = feed;
  token.save();
}

/** Records that a token is no longer allowed for new escrows. */
export function delistToken(address: Address): void {
  const token = Token.load(address);
  if (token == null) return;
  token.listed = false;
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
