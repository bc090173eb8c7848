import { gzipSync } from "node:zlib";

const BLOCK_BYTES = 512;
/** The time that npm writes into its packages, in unix seconds, so that the same files give the same bytes. */
const MODIFIED_AT = 499_162_500;
const MAX_PATH_BYTES = 100;
/** Where gzip's header names the system that wrote it, and the value for an unknown one. */
const GZIP_SYSTEM = { at: 9, unknown: 255 } as const;

/**
 * Packs files into a gzipped tar archive. The same files give the same bytes on every run: they are in the order given, and
 * times, owners and modes are fixed.
 * @param files contents by path
 * @throws RangeError for a path above 100 bytes
 */
export function packTarball(files: ReadonlyMap<string, Buffer>): Buffer {
  const blocks = [...files].flatMap(([path, content]) => [headerOf(path, content.length), padded(content)]);
  const packed = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]), { level: 9 });
  packed[GZIP_SYSTEM.at] = GZIP_SYSTEM.unknown;
  return packed;
}

/** A header of POSIX tar (ustar) for an ordinary file. */
function headerOf(path: string, bytes: number): Buffer {
  const length = Buffer.byteLength(path);
  if (length > MAX_PATH_BYTES) {
    throw new RangeError(`The path ${path} has ${String(length)} bytes, at most ${String(MAX_PATH_BYTES)}.`);
  }
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(path, 0);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(bytes, 11), 124);
  header.write(octal(MODIFIED_AT, 11), 136);
  // The sum is taken with blanks in its own place.
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\0" + "00", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES)]);
}
