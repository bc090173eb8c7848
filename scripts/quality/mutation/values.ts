import type { Mutant } from "./mutant.ts";

const FEE = "libraries/FeeMath.sol";
const CAPS = "libraries/JobValueCaps.sol";
const VALUE = "libraries/TokenValue.sol";
const CALLS = "libraries/BoundedCall.sol";

/** Faults in the libraries: division of money, caps, prices, calls that may fail. */
export const VALUES_FAULTS: Mutant[] = [
  {
    fault: "the fee is rounded down",
    file: FEE,
    from: " + (ProtocolConstants.BPS_DENOMINATOR - 1)",
    to: "",
  },
  {
    fault: "the fee is returned with the rest",
    file: FEE,
    from: "return amount - feeOf(amount);",
    to: "return amount;",
  },
  {
    fault: "a unit is lost in a split",
    file: FEE,
    from: "sellerPart = locked - buyerPart;",
    to: "sellerPart = (locked * (ProtocolConstants.PERCENT_DENOMINATOR - buyerPercent)) / 100;",
  },
  { fault: "a score of 10 is below the step", file: CAPS, from: "if (score < 10)", to: "if (score <= 10)" },
  { fault: "the step at 70 comes at 71", file: CAPS, from: "if (score < 70)", to: "if (score < 71)" },
  {
    fault: "a value is rounded down under a cap",
    file: VALUE,
    from: "return Math.ceilDiv(amount * ProtocolConstants.USD_UNIT * price, tokenUnit * 10 ** feedDecimals);",
    to: "return (amount * ProtocolConstants.USD_UNIT * price) / (tokenUnit * 10 ** feedDecimals);",
  },
  { fault: "a price of zero is taken", file: VALUE, from: "answer <= 0 ||", to: "answer < 0 ||" },
  {
    fault: "a price that is just old enough is refused",
    file: VALUE,
    from: "block.timestamp - updatedAt > maxPriceAge",
    to: "block.timestamp - updatedAt >= maxPriceAge",
  },
  {
    fault: "an answer that was carried over is taken",
    file: VALUE,
    from: "answeredInRound < roundId ||",
    to: "answeredInRound > roundId ||",
  },
  {
    fault: "a token that returns false is believed",
    file: CALLS,
    from: "and(gt(returndatasize(), 0x1f), iszero(mload(0x00)))",
    to: "0",
  },
  {
    fault: "a payout can be starved of gas on purpose",
    file: CALLS,
    from: "if (available < required) revert IEscrow.InsufficientGas(available, required);",
    to: "",
  },
  {
    fault: "the guard forgets what the call keeps back and costs",
    file: CALLS,
    from: "uint256 required = gasLimit + gasLimit / 63 + CALL_OVERHEAD;",
    to: "uint256 required = gasLimit;",
  },
  {
    fault: "a payout has less gas than is promised",
    file: CALLS,
    from: "call(gasLimit, token,",
    to: "call(sub(gasLimit, 5000), token,",
  },
  {
    fault: "a score update has less gas than is promised",
    file: CALLS,
    from: "call(gasLimit, target,",
    to: "call(sub(gasLimit, 5000), target,",
  },
  {
    fault: "the feed of a token of 6 decimals is not asked",
    file: VALUE,
    from: "return config.feed == address(0) && config.decimals == ProtocolConstants.USD_DECIMALS;",
    to: "return config.decimals == ProtocolConstants.USD_DECIMALS;",
  },
  {
    fault: "every token without a feed is counted in units",
    file: VALUE,
    from: "return config.feed == address(0) && config.decimals == ProtocolConstants.USD_DECIMALS;",
    to: "return config.feed == address(0);",
  },
  {
    fault: "a value without a feed is rounded down",
    file: VALUE,
    from: "return Math.ceilDiv(amount * ProtocolConstants.USD_UNIT, tokenUnit);",
    to: "return (amount * ProtocolConstants.USD_UNIT) / tokenUnit;",
  },
  {
    fault: "a price that overflows is taken",
    file: VALUE,
    from: "            uint256(answer) > MAX_PRICE ||\n",
    to: "",
  },
  {
    fault: "a price from the future is taken",
    file: VALUE,
    from: "            updatedAt > block.timestamp ||\n",
    to: "",
  },
  {
    fault: "a feed of any decimals is taken",
    file: VALUE,
    from: "        if (feedDecimals > MAX_DECIMALS) revert IEscrow.DecimalsAboveMaximum(feed, feedDecimals, MAX_DECIMALS);\n",
    to: "",
  },
  {
    fault: "a split rounds in the buyer's favour",
    file: FEE,
    from: "buyerPart = (locked * buyerPercent) / ProtocolConstants.PERCENT_DENOMINATOR;",
    to: "buyerPart = (locked * buyerPercent + 99) / ProtocolConstants.PERCENT_DENOMINATOR;",
  },
  {
    fault: "a token that answers false with more than a word is believed",
    file: CALLS,
    from: "and(gt(returndatasize(), 0x1f), iszero(mload(0x00)))",
    to: "and(eq(returndatasize(), 0x20), iszero(mload(0x00)))",
  },
];
