/** How a command ends. Scripts and agents decide by this number alone. */
export const EXIT = {
  done: 0,
  failed: 1,
  /** The command line is wrong. Nothing was done. */
  usage: 2,
  /** A limit of the wallet, the API key or the command line refused it. */
  refusedByLimit: 3,
  /** There is no valid API key. */
  notSignedIn: 4,
  /** It may have been done. Repeat it with the same intent. */
  outcomeUnknown: 5,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
