import { Schema, Types } from "mongoose";
import type { Connection, IndexDefinition, IndexOptions, InferRawDocType, Model, SchemaDefinition } from "mongoose";

/**
 * A record is declared once, as fields with their comments. Its type and its collection derive from them:
 *
 *     const topicFields = {
 *       /** Its name. *\/
 *       _id: text,
 *       network: oneOf(NETWORKS),
 *       /** When a worker should next serve the topic; null if no subscriber lacks messages. *\/
 *       dueAt: nullable(date),
 *       owner: textOf<Address>(),
 *       parts: listOf(part({ name: text, size: number })),
 *       note: optional(text),
 *     };
 *     export type TopicRecord = RecordOf<typeof topicFields>;
 *     export type TopicModel = Model<TopicRecord>;
 *     export const topicModel = (connection: Connection): TopicModel =>
 *       collection(connection, "MessageTopic", "message_topics", topicFields, [[{ dueAt: 1 }]]);
 *
 * `TopicModel` then types what `.lean()` returns, without a cast.
 */
export type RecordOf<Fields> = InferRawDocType<Fields, { _id: false; typeKey: "type" }>;

/** A field that holds a `Value`. Mongoose reads the hint, which exists only as a type. */
interface Field<Value> {
  readonly type: unknown;
  readonly __rawDocTypeHint: Value;
}

/** A field that every record has. */
interface RequiredField<Value> extends Field<Value> {
  readonly required: true;
}

/** A field that a record may lack. */
interface OptionalField<Value> extends Field<Value> {
  readonly allowNull: false;
}

function fieldOf<Value>(type: unknown, options: object = {}): RequiredField<Value> {
  return { type, required: true, ...options } as unknown as RequiredField<Value>;
}

export const text = fieldOf<string>(String);
export const number = fieldOf<number>(Number);
export const flag = fieldOf<boolean>(Boolean);
export const date = fieldOf<Date>(Date);
/** MongoDB's own id, which Mongoose generates. */
export const objectId = fieldOf<Types.ObjectId>(Schema.Types.ObjectId, { auto: true });
export const bytes = fieldOf<Buffer>(Buffer);
/** An exact decimal number. */
export const decimal = fieldOf<Types.Decimal128>(Types.Decimal128);

/** A text of a narrower type, such as an address. */
export const textOf = <Value extends string>(): RequiredField<Value> => fieldOf<Value>(String);

/** A text or number out of a list, which Mongoose checks. */
export function oneOf<const Values extends readonly (string | number)[]>(
  values: Values,
): RequiredField<Values[number]> {
  return fieldOf(typeof values[0] === "number" ? Number : String, { enum: values });
}

/** A value that only its type describes. */
export const mixed = <Value>(): RequiredField<Value> => fieldOf<Value>(Schema.Types.Mixed);

/** An object with fields of its own. */
export function part<Fields extends object>(fields: Fields): RequiredField<RecordOf<Fields>> {
  return fieldOf(new Schema(fields as SchemaDefinition, { _id: false, strict: "throw" }));
}

export const listOf = <Value>(field: RequiredField<Value>): RequiredField<Value[]> => fieldOf<Value[]>([field]);

/** A field that holds null until it is set. Every record has it. */
export function nullable<Value>(field: RequiredField<Value>): RequiredField<Value | null> {
  return { ...field, required: false, default: null } as unknown as RequiredField<Value | null>;
}

/** A field that a record may lack. Without the default Mongoose would store an empty list. */
export function optional<Value>(field: RequiredField<Value>): OptionalField<Value> {
  return { ...field, required: false, default: undefined, allowNull: false } as unknown as OptionalField<Value>;
}

/** A field with this value unless another is given. */
export function withDefault<Value>(field: RequiredField<Value>, value: NoInfer<Value>): RequiredField<Value> {
  return { ...field, default: value } as unknown as RequiredField<Value>;
}

/** Indexes of a collection, each with its options. */
export type Indexes = readonly (readonly [IndexDefinition, IndexOptions?])[];

/**
 * Declares a collection of records with these fields. A write with an unknown field throws. A second declaration with the
 * same fields returns the first one's model.
 */
export function collection<Fields extends object>(
  connection: Connection,
  model: string,
  name: string,
  fields: Fields,
  indexes: Indexes = [],
): Model<RecordOf<Fields>> {
  // Mongoose refuses a second schema under the same name, and a connection may be asked for a collection again.
  const earlier: { schema: { obj: unknown } } | undefined = connection.models[model];
  if (earlier?.schema.obj === fields) return earlier as unknown as Model<RecordOf<Fields>>;
  const schema = new Schema(fields, {
    collection: name,
    versionKey: false,
    strict: "throw",
    // Empty objects are stored, too.
    minimize: false,
  });
  for (const [index, options] of indexes) schema.index(index, options);
  const declared: unknown = connection.model(model, schema);
  return declared as Model<RecordOf<Fields>>;
}
