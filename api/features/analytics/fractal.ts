/** Why a series has no exponents. */
export const DEGENERATE_REASONS = ["too_short", "constant", "too_regular"] as const;
export type DegenerateReason = (typeof DEGENERATE_REASONS)[number];

/** Scaling exponents of a series. */
export interface FractalAnswer {
  /** Exponent of the detrended fluctuation analysis; null for a degenerate series. */
  hurst: number | null;
  /** Higuchi dimension of the series' graph; null for a degenerate series. */
  fractalDimension: number | null;
  /** Null unless the series is degenerate. */
  reason: DegenerateReason | null;
}

/** Fewest points that the exponents are computed from. */
export const MIN_SERIES_LENGTH = 16;
/** How the exponents are computed, for the answer. */
export const FRACTAL_METHOD = {
  hurst: "Detrended fluctuation analysis, linear detrending, windows of 4 to N/4 points",
  fractalDimension: "Higuchi, intervals of 1 to min(16, N/4) points",
} as const;

const MIN_WINDOW = 4;
const WINDOWS_PER_OCTAVE = 4;
const MAX_INTERVAL = 16;
/** Fluctuations of a series of size 1 below this are errors of rounding. */
const ROUNDING = 1e-12;

/** The Hurst exponent and the fractal dimension of a series. Both ignore its mean and its scale. */
export function analyseSeries(series: readonly number[]): FractalAnswer {
  if (series.length < MIN_SERIES_LENGTH) return { hurst: null, fractalDimension: null, reason: "too_short" };
  const scaled = centred(series);
  if (scaled === undefined) return { hurst: null, fractalDimension: null, reason: "constant" };
  const exponents = { hurst: estimateHurst(scaled), fractalDimension: higuchiDimension(scaled) };
  const isWhole = exponents.hurst !== null && exponents.fractalDimension !== null;
  return { ...exponents, reason: isWhole ? null : "too_regular" };
}

/** The series with mean 0 and at most 1 in size, so that large numbers don't overflow; undefined if it is constant. */
function centred(series: readonly number[]): number[] | undefined {
  const largest = Math.max(...series.map(Math.abs));
  if (largest === 0) return undefined;
  const scaled = series.map((value) => value / largest);
  const [first = 0] = scaled;
  if (scaled.every((value) => value === first)) return undefined;
  const mean = scaled.reduce((sum, value) => sum + value, 0) / scaled.length;
  return scaled.map((value) => value - mean);
}

/**
 * The exponent with which the fluctuation of the summed series grows with the length of a window: 0.5 for uncorrelated
 * values, 1 for pink noise, H for fractional Gaussian noise and H + 1 for fractional Brownian motion.
 */
function estimateHurst(series: readonly number[]): number | null {
  let sum = 0;
  const profile = series.map((value) => (sum += value));
  const points = listWindows(series.length).map((size): [number, number] => [size, computeFluctuation(profile, size)]);
  return fitSlope(points);
}

/** Window lengths, evenly spaced in their logarithm. */
function listWindows(length: number): number[] {
  const longest = Math.max(Math.floor(length / 4), 2 * MIN_WINDOW);
  const sizes = new Set<number>();
  for (let step = 0; ; step += 1) {
    const size = Math.round(MIN_WINDOW * 2 ** (step / WINDOWS_PER_OCTAVE));
    if (size > longest) return [...sizes];
    sizes.add(size);
  }
}

/** Root mean square of what remains of the profile in windows from both ends, each less its line of best fit. */
function computeFluctuation(profile: readonly number[], size: number): number {
  const windows = Math.floor(profile.length / size);
  let squares = 0;
  for (let window = 0; window < windows; window += 1) {
    squares += residualSquares(profile, window * size, size);
    squares += residualSquares(profile, profile.length - (window + 1) * size, size);
  }
  return Math.sqrt(squares / (2 * windows * size));
}

function residualSquares(profile: readonly number[], from: number, size: number): number {
  const middle = (size - 1) / 2;
  const part = profile.slice(from, from + size);
  const mean = part.reduce((sum, value) => sum + value, 0) / size;
  const spread = (size * (size * size - 1)) / 12;
  const slope = part.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0) / spread;
  return part.reduce((sum, value, index) => sum + (value - mean - slope * (index - middle)) ** 2, 0);
}

/** 1 for a smooth line, 2 for uncorrelated values, and 2 - H for fractional Brownian motion. */
function higuchiDimension(series: readonly number[]): number | null {
  const intervals = Math.min(MAX_INTERVAL, Math.floor(series.length / 4));
  const points = Array.from({ length: intervals }, (_, index): [number, number] => [
    1 / (index + 1),
    curveLength(series, index + 1),
  ]);
  return fitSlope(points);
}

/** Mean length of the curves through every `interval`-th point, one for each start. */
function curveLength(series: readonly number[], interval: number): number {
  let total = 0;
  for (let start = 0; start < interval; start += 1) {
    const steps = Math.floor((series.length - 1 - start) / interval);
    let length = 0;
    for (let step = 1; step <= steps; step += 1) {
      length += Math.abs(at(series, start + step * interval) - at(series, start + (step - 1) * interval));
    }
    total += (length * (series.length - 1)) / (steps * interval * interval);
  }
  return total / interval;
}

const at = (series: readonly number[], index: number): number => series[index] ?? 0;

/**
 * Slope of the line of best fit through the logarithms, without points of size 0 but for rounding. Null with fewer than two:
 * a single value before zeros leaves a profile of straight lines, for example.
 */
function fitSlope(points: readonly [number, number][]): number | null {
  const logs = points
    .filter(([, value]) => value > ROUNDING)
    .map(([x, value]): [number, number] => [Math.log(x), Math.log(value)]);
  if (logs.length < 2) return null;
  const mean = (place: 0 | 1) => logs.reduce((sum, point) => sum + point[place], 0) / logs.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const covariance = logs.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / logs.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}
