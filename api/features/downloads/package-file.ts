import { promisify } from "node:util";
import { gunzip } from "node:zlib";

import { z } from "zod";

const BLOCK_BYTES = 512;
const MANIFEST = "package/package.json";
/** Where a tar header has the path and the size, in bytes. */
const PATH = { from: 0, to: 100 };
const SIZE = { from: 124, to: 136 };

const manifestSchema = z.object({ name: z.string(), version: z.string() });

/** What a package calls itself. */
export type Manifest = z.output<typeof manifestSchema>;

/** Reads the manifest of a packed npm package. @throws Error if the file isn't one */
export async function readManifest(packed: Buffer): Promise<Manifest> {
  const archive = await promisify(gunzip)(packed);
  for (let at = 0; at + BLOCK_BYTES <= archive.length;) {
    const field = ({ from, to }: typeof PATH) => archive.toString("utf8", at + from, at + to).replace(/\0.*$/s, "");
    const size = Number.parseInt(field(SIZE), 8);
    const content = at + BLOCK_BYTES;
    if (field(PATH) === MANIFEST) {
      return manifestSchema.parse(JSON.parse(archive.toString("utf8", content, content + size)));
    }
    // An archive ends with empty blocks.
    if (!Number.isInteger(size)) break;
    at = content + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
  }
  throw new Error(`The archive has no ${MANIFEST}`);
}
