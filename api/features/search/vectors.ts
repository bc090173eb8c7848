import { endianness } from "node:os";

const BYTES = Float32Array.BYTES_PER_ELEMENT;

/** Converts a vector to its stored form: 32-bit floats, little endian. */
export function toBytes(vector: Float32Array): Buffer {
  const bytes = Buffer.from(Uint8Array.from(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)));
  return endianness() === "LE" ? bytes : bytes.swap32();
}

/** Converts stored bytes to a vector. */
export function fromBytes(stored: Uint8Array): Float32Array {
  // Copied, because a float array must be aligned and the stored bytes may start anywhere.
  const bytes = Buffer.from(Uint8Array.from(stored));
  if (endianness() !== "LE") bytes.swap32();
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / BYTES);
}

/** The dot product, which is the cosine of unit vectors. 0 for vectors of different lengths. */
export function cosine(left: Float32Array, right: Float32Array): number {
  if (left.length !== right.length) return 0;
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += (left[index] ?? 0) * (right[index] ?? 0);
  return sum;
}
