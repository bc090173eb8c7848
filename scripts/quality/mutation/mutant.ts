/** One small fault in one contract. */
export interface Mutant {
  /** What the fault does. */
  fault: string;
  /** Path under contracts/. */
  file: string;
  /** The source text to replace; it must occur exactly once. */
  from: string;
  /** Its replacement. */
  to: string;
}
