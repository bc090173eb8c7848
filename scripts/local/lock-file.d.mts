/**
 * Takes a lock file. However many see the same dead holder at once, one of them gets it.
 * @param content who takes it; no two holders may ever write the same
 * @param isFree whether the holder that wrote this is gone
 * @returns nothing when the lock is taken, else what its holder, or whoever is just succeeding a dead one, has written
 */
export function takeLockFile(file: string, content: string, isFree: (content: string) => boolean): string | undefined;

/** Gives a lock file back; one that has passed to another holder stays. */
export function giveLockFile(file: string, content: string): void;
