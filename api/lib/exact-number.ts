/** A double keeps every decimal of so many digits, far from the ends of its range. */
const ALWAYS_KEPT_DIGITS = 15;
/** No number is written with more digits than these, apart from zeros at either end. */
const MAX_WRITTEN_DIGITS = 17;
/** With this exponent, a short number is far from the ends of the range. */
const SAFE_EXPONENT = 250;
const SHORT_LENGTH = 30;

/**
 * Whether JavaScript writes a number of a JSON text back with the same decimal value: `0.1`, `1.0`, `1e2` and
 * `-0` yes; `12345678901234567891`, `0.10000000000000001`, `1e400` and `1e-400` no. Takes linear time.
 * @param literal a number as JSON writes it
 */
export function isExactNumber(literal: string): boolean {
  if (isSurelyExact(literal)) return true;
  const number = Number(literal);
  if (!Number.isFinite(number)) return false;
  const written = String(number);
  if (written === literal) return true;
  const [sent, kept] = [toDecimal(literal), toDecimal(written)];
  return sent.digits.length <= MAX_WRITTEN_DIGITS && sent.digits === kept.digits && sent.exponent === kept.exponent;
}

const [CODE_0, CODE_9, CODE_E, CODE_LOWER_E] = [48, 57, 69, 101];

/** True for nearly every number that people send, for a tenth of the cost of an answer to the others. */
function isSurelyExact(literal: string): boolean {
  if (literal.length > SHORT_LENGTH) return false;
  let digits = 0;
  let exponent: number | undefined;
  for (let index = 0; index < literal.length; index += 1) {
    const code = literal.charCodeAt(index);
    if (code === CODE_E || code === CODE_LOWER_E) exponent = 0;
    else if (code < CODE_0 || code > CODE_9) continue;
    else if (exponent !== undefined) exponent = exponent * 10 + code - CODE_0;
    else if (digits > 0 || code !== CODE_0) digits += 1;
  }
  return digits <= ALWAYS_KEPT_DIGITS && (exponent ?? 0) <= SAFE_EXPONENT;
}

const EXPONENT = /[eE]/;

/** A decimal's digits without zeros at either end, and the power of ten that they are multiplied by. The sign is never lost. */
function toDecimal(literal: string): { digits: string; exponent: number } {
  const mark = literal.search(EXPONENT);
  const mantissa = mark === -1 ? literal : literal.slice(0, mark);
  const power = mark === -1 ? 0 : Number(literal.slice(mark + 1));
  const point = mantissa.indexOf(".");
  const whole = mantissa.slice(mantissa.startsWith("-") ? 1 : 0, point === -1 ? undefined : point);
  const fraction = point === -1 ? "" : mantissa.slice(point + 1);
  const all = whole + fraction;
  let start = 0;
  while (all[start] === "0") start += 1;
  if (start === all.length) return { digits: "", exponent: 0 };
  let end = all.length;
  while (all[end - 1] === "0") end -= 1;
  return { digits: all.slice(start, end), exponent: power - fraction.length + (all.length - end) };
}
