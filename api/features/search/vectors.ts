import { endianness } from "node:os";

const BYTES = Float32Array.BYTES_PER_ELEMENT;

/** A vector as it is stored: 32-bit floats, little endian. */
export function toBytes(vector: Float32Array): Buffer {
  const bytes = Buffer.from(Uint8Array.from(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)));
  return endianness() === "LE" ? bytes : bytes.swap32();
}

/** The vector of stored bytes. */
export function fromBytes(stored: Uint8Array): Float32Array {
  // A copy of its own: the stored bytes may begin anywhere, floats may not.
  const bytes = Buffer.from(Uint8Array.from(stored));
  if (endianness() !== "LE") bytes.swap32();
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / BYTES);
}

/** Dot product: for unit vectors their cosine. Vectors of different length have nothing in common. */
export function cosine(left: Float32Array, right: Float32Array): number {
  if (left.length !== right.length) return 0;
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += (left[index] ?? 0) * (right[index] ?? 0);
  return sum;
}
