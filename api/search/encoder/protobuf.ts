/** A field of a protobuf message: its number, and its bytes or, of a varint, its value. */
interface Field {
  number: number;
  bytes: Buffer;
  value: number;
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;
/** Lengths of the wire types that have one. */
const FIXED: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
const CONTINUES = 0x80;
const NOTHING = Buffer.alloc(0);

/** The fields of a protobuf message in their order. @throws Error if it isn't one */
export function* readFields(message: Buffer): Generator<Field> {
  let position = 0;
  function readVarint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 2 ** 7) {
      const byte = message.readUInt8(position);
      position += 1;
      value += (byte % CONTINUES) * factor;
      if (byte < CONTINUES) return value;
    }
  }
  while (position < message.length) {
    const key = readVarint();
    const [number, wireType] = [key >>> 3, key & 7];
    if (wireType === VARINT) {
      yield { number, bytes: NOTHING, value: readVarint() };
      continue;
    }
    const length = wireType === LENGTH_DELIMITED ? readVarint() : FIXED[wireType];
    if (length === undefined) throw new Error(`Unknown protobuf wire type ${wireType} at byte ${position}`);
    yield { number, bytes: message.subarray(position, position + length), value: 0 };
    position += length;
  }
}
