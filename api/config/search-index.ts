import { z } from "zod";

/** The S3-compatible object store that has the search index. */
export interface ObjectStoreSettings {
  /** Undefined for Amazon's own. */
  endpoint: string | undefined;
  region: string;
  /** Undefined if the machine's role or profile signs the requests. */
  keys: { id: string; secret: string; sessionToken: string | undefined } | undefined;
}

const VISIBLE = /^[\x21-\x7e]+$/;
const REGION = /^[a-z0-9-]+$/;
const S3 = "s3://";
/** A bucket in lower case, as the names of buckets are, and a prefix. The engine knows gs and az, too. */
const OBJECT_STORE = /^(?:s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]|(?:gs|az):\/\/[^\s/?#]+)(?:\/[^\s?#]*)?$/;
const HAS_SCHEME = /^\w+:\/\//;
/** The region that stores without regions expect in a signature. */
const REGION_OF_OTHERS = "us-east-1";

/** Variables of the search index. Those of Amazon have other uses as well, and count only for an index in a bucket. */
export const searchIndexVariables = {
  SEARCH_INDEX_URL: z
    .string()
    .refine(
      (url) => OBJECT_STORE.test(url) || !HAS_SCHEME.test(url),
      "must be a folder, or a prefix of an object store such as s3://bucket/prefix",
    )
    .default(".local/search"),
  AWS_ENDPOINT_URL: z.string().optional(),
  AWS_REGION: z.string().optional(),
  AWS_ACCESS_KEY_ID: z.string().optional(),
  AWS_SECRET_ACCESS_KEY: z.string().optional(),
  AWS_SESSION_TOKEN: z.string().optional(),
};

type SearchIndexVariables = z.output<z.ZodObject<typeof searchIndexVariables>>;

/** The store as configured; undefined unless the index is in a bucket of S3. */
export function searchIndexStore(env: SearchIndexVariables): ObjectStoreSettings | undefined {
  if (!env.SEARCH_INDEX_URL.startsWith(S3)) return undefined;
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: sessionToken } = env;
  return {
    endpoint: env.AWS_ENDPOINT_URL?.replace(/\/+$/, ""),
    region: env.AWS_REGION ?? REGION_OF_OTHERS,
    keys: id === undefined || secret === undefined ? undefined : { id, secret, sessionToken },
  };
}

/** Problems of the variables in combination. */
export function searchIndexProblems(env: SearchIndexVariables): string[] {
  if (!env.SEARCH_INDEX_URL.startsWith(S3)) return [];
  const { AWS_ENDPOINT_URL: endpoint, AWS_REGION: region } = env;
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env;
  const problems: string[] = [];
  if (endpoint !== undefined && !isPlainHttp(endpoint)) {
    problems.push("AWS_ENDPOINT_URL must be an http or https address without user name, password and query");
  }
  if (region === undefined && endpoint === undefined) {
    problems.push("AWS_REGION is missing: SEARCH_INDEX_URL names a bucket of Amazon's; others need AWS_ENDPOINT_URL");
  }
  if (region !== undefined && !REGION.test(region)) problems.push("AWS_REGION must be a name such as eu-central-1");
  if (id === undefined) {
    const [needing] = [
      ...(secret === undefined ? [] : ["AWS_SECRET_ACCESS_KEY"]),
      ...(token === undefined ? [] : ["AWS_SESSION_TOKEN"]),
      // Only Amazon's own store takes the role of the machine.
      ...(endpoint === undefined ? [] : ["the store at AWS_ENDPOINT_URL"]),
    ];
    if (needing !== undefined) problems.push(`AWS_ACCESS_KEY_ID is missing: ${needing} needs it`);
  } else if (secret === undefined) {
    problems.push("AWS_SECRET_ACCESS_KEY is missing: AWS_ACCESS_KEY_ID needs it");
  }
  const keys = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token };
  for (const [name, value] of Object.entries(keys)) {
    if (value !== undefined && !VISIBLE.test(value)) problems.push(`${name} must be visible ASCII without spaces`);
  }
  return problems;
}

function isPlainHttp(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, username, password, search, hash } = new URL(address);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === "");
}
