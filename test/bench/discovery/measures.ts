/** Grades of a query's listings by slug, 1 to 3. Others have 0. */
export type Grades = Readonly<Record<string, number>>;

/** The least grade of a listing that serves the buyer. */
const SERVES = 2;

/**
 * Counts near-duplicates once: each listing becomes the one that it repeats, and later places of the same one become null,
 * because they give the buyer nothing further to choose from.
 */
export function withoutRepeats(ranking: readonly string[], originalOf: (slug: string) => string): (string | null)[] {
  const seen = new Set<string>();
  return ranking.map((slug) => {
    const original = originalOf(slug);
    if (seen.has(original)) return null;
    seen.add(original);
    return original;
  });
}

/**
 * Normalised discounted cumulative gain of the first `depth` places, 0 to 1: the gain of a grade is 2^grade - 1, and place n
 * divides it by log2(n + 1).
 */
export function ndcg(ranking: readonly (string | null)[], grades: Grades, depth: number): number {
  const found = ranking.map((slug) => gradeOf(slug, grades));
  const ideal = Object.values(grades).sort((left, right) => right - left);
  return gainOf(found, depth) / gainOf(ideal, depth);
}

/** 1 divided by the first place whose listing serves the buyer; 0 without one. */
export function reciprocalRank(ranking: readonly (string | null)[], grades: Grades): number {
  const place = ranking.findIndex((slug) => gradeOf(slug, grades) >= SERVES);
  return place === -1 ? 0 : 1 / (place + 1);
}

/** Share of the listings that serve the buyer that are among the first `depth`. */
export function recall(ranking: readonly (string | null)[], grades: Grades, depth: number): number {
  const all = Object.values(grades).filter((grade) => grade >= SERVES).length;
  return ranking.slice(0, depth).filter((slug) => gradeOf(slug, grades) >= SERVES).length / all;
}

/** A listing's grade; 0 for a repeat and for one that the query doesn't name. */
export function gradeOf(slug: string | null, grades: Grades): number {
  return slug === null ? 0 : (grades[slug] ?? 0);
}

function gainOf(grades: readonly number[], depth: number): number {
  return grades.slice(0, depth).reduce((sum, grade, index) => sum + (2 ** grade - 1) / Math.log2(index + 2), 0);
}
