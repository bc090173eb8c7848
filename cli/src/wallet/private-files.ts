import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, link, lstat, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { WalletError } from "./wallet-error.ts";

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Rights of the group and of all others. */
const OTHERS = 0o077;
/** Windows keeps rights in access lists, which these bits don't show. */
const HAS_MODES = process.platform !== "win32";

/** Makes a directory that only its owner can enter. One that others may enter is closed to them. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  if (HAS_MODES) await chmod(folder, FOLDER_MODE);
}

/**
 * Reads a file that only its owner may read; undefined if there is none.
 * @throws WalletError `open_to_others` if it is another user's, others may read or write it, or it is no plain file
 */
export async function readPrivateFile(file: string): Promise<string | undefined> {
  try {
    await requirePrivate(file);
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function requirePrivate(file: string): Promise<void> {
  const found = await lstat(file);
  const refuse = (why: string): WalletError =>
    new WalletError("open_to_others", `${file} ${why}.`, `Check who wrote it, then run: chmod 600 '${file}'`);
  if (!found.isFile()) throw refuse("isn't a plain file");
  if (!HAS_MODES) return;
  if (found.uid !== process.getuid?.()) throw refuse("belongs to another user");
  if ((found.mode & OTHERS) !== 0) {
    throw refuse(`may be used by others (mode ${(found.mode & 0o777).toString(8)}, and at most 600 is allowed)`);
  }
}

/** Replaces a file at once: a reader or a crash sees the earlier text or this one, never a part. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  await withDraft(file, text, (draft) => rename(draft, file));
}

/**
 * Makes a file, whole from its first moment on, unless it exists.
 * @returns false if it exists
 */
export async function createPrivateFile(file: string, text: string): Promise<boolean> {
  try {
    // A link fails if the name is taken, in the one step that also makes it. Nothing is left locked by a process that dies.
    await withDraft(file, text, (draft) => link(draft, file));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Writes a text to the disk beside a file, and has it put in place. */
async function withDraft(file: string, text: string, place: (draft: string) => Promise<void>): Promise<void> {
  await makePrivateFolder(dirname(file));
  const draft = join(dirname(file), `.${basename(file)}.${randomUUID()}`);
  try {
    const handle = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, FILE_MODE);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place(draft);
    await syncFolder(dirname(file));
  } finally {
    await rm(draft, { force: true });
  }
}

/** The name of a file is on the disk once its directory is. */
async function syncFolder(folder: string): Promise<void> {
  if (!HAS_MODES) return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
