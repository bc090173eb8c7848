/** One small fault in one contract. */
export interface Mutant {
  /** What the fault does, as a sentence that must not come true. */
  fault: string;
  /** Path under contracts/. */
  file: string;
  /** Text of the source, which must occur exactly once … */
  from: string;
  /** … and its replacement. */
  to: string;
}
