import { assert } from "chai";

import { analyseSeries } from "../../../api/features/analytics/fractal.ts";

const LENGTH = 500;
const RUNS = 20;

/** Numbers from 0 to 1 (mulberry32), the same in every run of the test. */
function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Normal numbers (Box and Muller). */
const normalOf = (random: () => number) => (): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Lower triangle whose product with its transpose is the covariance of fractional Gaussian noise. */
function choleskyOf(hurst: number): number[][] {
  const power = 2 * hurst;
  const covariance = (lag: number) =>
    0.5 * (Math.abs(lag + 1) ** power - 2 * Math.abs(lag) ** power + Math.abs(lag - 1) ** power);
  const rows: number[][] = [];
  for (let row = 0; row < LENGTH; row += 1) {
    const current: number[] = [];
    for (let column = 0; column <= row; column += 1) {
      const other = column === row ? current : (rows[column] ?? []);
      let rest = covariance(row - column);
      for (let k = 0; k < column; k += 1) rest -= (current[k] ?? 0) * (other[k] ?? 0);
      current.push(column === row ? Math.sqrt(rest) : rest / (other[column] ?? 1));
    }
    rows.push(current);
  }
  return rows;
}

/** Exact fractional Gaussian noise: its sum is exact fractional Brownian motion. */
function noiseOf(cholesky: number[][], normal: () => number): number[] {
  const drawn = Array.from({ length: LENGTH }, normal);
  return cholesky.map((row) => row.reduce((sum, factor, index) => sum + factor * (drawn[index] ?? 0), 0));
}

function summed(series: readonly number[]): number[] {
  let sum = 0;
  return series.map((value) => (sum += value));
}

/** A spectrum of 1/f with random phases. */
function pinkNoise(random: () => number): number[] {
  const series = Array.from({ length: LENGTH }, () => 0);
  for (let frequency = 1; frequency <= LENGTH / 2; frequency += 1) {
    const amplitude = Math.sqrt(-Math.log(1 - random()) / frequency);
    const phase = 2 * Math.PI * random();
    for (let time = 0; time < LENGTH; time += 1) {
      series[time] = (series[time] ?? 0) + amplitude * Math.cos((2 * Math.PI * frequency * time) / LENGTH + phase);
    }
  }
  return series;
}

/** Asserts that the estimates are near a value: their mean within `meanWithin`, and each within a quarter. */
function assertNear(estimates: readonly (number | null)[], expected: number, meanWithin = 0.06): void {
  const numbers = estimates.map((estimate) => estimate ?? Number.NaN);
  const mean = numbers.reduce((sum, estimate) => sum + estimate, 0) / numbers.length;
  assert.approximately(mean, expected, meanWithin, "the mean");
  for (const estimate of numbers) assert.approximately(estimate, expected, 0.25);
}

const runs = (make: () => number[]) => Array.from({ length: RUNS }, () => analyseSeries(make()));

describe("the exponents of a series", () => {
  for (const hurst of [0.3, 0.5, 0.7, 0.9]) {
    it(`[D30] exact fractional Brownian motion with H = ${hurst}`, () => {
      const normal = normalOf(uniform(hurst * 1_000));
      const cholesky = choleskyOf(hurst);
      const noise = Array.from({ length: RUNS }, () => noiseOf(cholesky, normal));
      const [steps, paths] = [noise.map(analyseSeries), noise.map((one) => analyseSeries(summed(one)))];
      assertNear(
        steps.map((found) => found.hurst),
        hurst,
      );
      assertNear(
        paths.map((found) => found.hurst),
        1 + hurst,
      );
      assertNear(
        paths.map((found) => found.fractalDimension),
        2 - hurst,
      );
    });
  }

  it("[D30] white noise has 0.5 and dimension 2, pink noise has 1", () => {
    const random = uniform(30);
    const white = runs(() => Array.from({ length: LENGTH }, random));
    assertNear(
      white.map((found) => found.hurst),
      0.5,
    );
    assertNear(
      white.map((found) => found.fractalDimension),
      2,
    );
    const pink = runs(() => pinkNoise(random));
    assertNear(
      pink.map((found) => found.hurst),
      1,
    );
  });

  it("[D30] a straight line has dimension 1", () => {
    const line = Array.from({ length: LENGTH }, (_, index) => 3 * index);
    assert.approximately(analyseSeries(line).fractalDimension ?? 0, 1, 1e-9);
  });

  it("don't depend on mean and scale, and take the largest numbers", () => {
    const random = uniform(8);
    const series = Array.from({ length: 100 }, random);
    const { hurst, fractalDimension } = analyseSeries(series);
    for (const moved of [series.map((value) => value * 1e300), series.map((value) => 7 * value - 100)]) {
      const found = analyseSeries(moved);
      assert.approximately(found.hurst ?? 0, hurst ?? 1, 1e-9);
      assert.approximately(found.fractalDimension ?? 0, fractalDimension ?? 1, 1e-9);
    }
  });

  it("are null with the reason for a series that is short or constant, and finite for every other", () => {
    const none = { hurst: null, fractalDimension: null };
    assert.deepEqual(analyseSeries([1, 2, 3]), { ...none, reason: "too_short" });
    for (const value of [0, 7, -0.1, 1e300]) {
      assert.deepEqual(analyseSeries(Array.from({ length: 16 }, () => value)), { ...none, reason: "constant" });
    }
    const onlyFirst = Array.from({ length: 16 }, (_, index) => (index === 0 ? 1 : 0));
    const { hurst: ofFirst, reason } = analyseSeries(onlyFirst);
    assert.deepEqual([ofFirst, reason], [null, "too_regular"]);
    const spike = Array.from({ length: LENGTH }, (_, index) => (index === 250 ? 1 : 0));
    const alternating = Array.from({ length: 16 }, (_, index) => index % 2);
    for (const series of [spike, alternating]) {
      const { hurst, fractalDimension } = analyseSeries(series);
      assert.isTrue(
        Number.isFinite(hurst) && Number.isFinite(fractalDimension),
        JSON.stringify({ hurst, fractalDimension }),
      );
    }
  });
});
