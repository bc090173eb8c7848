/** One small fault in one file. */
export interface Mutant {
  /** A description of the fault. */
  fault: string;
  /** Path under the folder of the sources. */
  file: string;
  /** The source text to replace; it must occur exactly once. */
  from: string;
  /** Its replacement. */
  to: string;
}
