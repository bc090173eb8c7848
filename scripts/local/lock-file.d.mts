/**
 * Takes a lock file. When several processes see the same dead holder at once, exactly one of them gets it.
 * @param content identifies the new holder; must be unique
 * @param isFree whether the holder that wrote this content has ended
 * @returns undefined when the lock was taken, else the content of its holder or of the process succeeding a dead one
 */
export function takeLockFile(file: string, content: string, isFree: (content: string) => boolean): string | undefined;

/** Releases a lock file, unless another holder has taken it. */
export function giveLockFile(file: string, content: string): void;
