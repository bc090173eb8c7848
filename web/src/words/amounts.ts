/** An amount as it is shown, with its exact value for the title. */
export interface ShownAmount {
  shown: string;
  exact: string;
}

const USD = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 2 });
const MANY_USD = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  notation: "compact",
  maximumFractionDigits: 2,
});
const COUNT = new Intl.NumberFormat("en-US");
const PERCENT = new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 1 });
/** From here on a figure is shortened. */
const MANY = 1_000_000;
const CENT = 0.01;

/** An amount of US dollars. @param amount a decimal string, such as `12.5` */
export function usd(amount: string): ShownAmount {
  const value = Number(amount);
  const exact = `$${amount}`;
  if (value > 0 && value < CENT) return { shown: exact, exact };
  return { shown: (Math.abs(value) >= MANY ? MANY_USD : USD).format(value), exact };
}

/** A whole number with its thousands apart. */
export function count(value: number): string {
  return COUNT.format(value);
}

/** A share between 0 and 1. */
export function percent(share: number): string {
  return PERCENT.format(share);
}

/** One of something, or many of it: `1 deal`, `2 deals`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/**
 * An amount of a token without the zeros at its end.
 * @param units the token's smallest units, as a decimal string
 * @example token("2500000", 6, "USDC") // 2.5 USDC
 */
export function token(units: string, decimals: number, symbol: string): string {
  const digits = units.padStart(decimals + 1, "0");
  const [whole, fraction] = [digits.slice(0, digits.length - decimals), digits.slice(digits.length - decimals)];
  const left = fraction.replace(/0+$/, "");
  return `${COUNT.format(BigInt(whole))}${left === "" ? "" : `.${left}`} ${symbol}`;
}

/** What a listing costs. @param price a decimal string or number in the currency's whole units */
export function price(price: string | number, currency: string): string {
  const value = typeof price === "number" ? decimal(price) : price;
  return `${value} ${currency}`;
}

const MAX_DIGITS = 18;

/** A number without an exponent. */
function decimal(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: MAX_DIGITS });
}

const FULL_BAR = 100;

/** The width of a bar that is a hundred wide: at least one if anything is used, and a hundred only if everything is. @param share 0 or more */
export function barWidth(share: number): number {
  if (share <= 0) return 0;
  return share >= 1 ? FULL_BAR : Math.min(FULL_BAR - 1, Math.max(1, Math.round(share * FULL_BAR)));
}
