import type { ObjectStoreSettings } from "../../config/search-index.ts";

/**
 * Bounds for each request to an object store, in the engine's words. A listing is tried six times all the same, so a store that
 * takes connections and never answers keeps a call for two minutes. A search has its own, shorter deadline.
 */
const BOUNDS = {
  connect_timeout: "3s",
  timeout: "10s",
  client_max_retries: "1",
  client_retry_timeout: "15",
  // Of the engine's own layer around the client, which slows down for a store that is overloaded.
  lance_aimd_max_retries: "1",
} as const;

/**
 * The engine's options for an object store. What they leave out, the engine reads from the environment itself, such as
 * the role of the machine.
 * @param store undefined for a folder, or a store of another provider than S3's
 */
export function toStorageOptions(store: ObjectStoreSettings | undefined): Record<string, string> {
  if (store === undefined) return { ...BOUNDS };
  const { endpoint, region, keys } = store;
  return {
    ...BOUNDS,
    aws_region: region,
    ...(endpoint === undefined ? {} : { aws_endpoint: endpoint, allow_http: String(endpoint.startsWith("http:")) }),
    ...(keys === undefined ? {} : { aws_access_key_id: keys.id, aws_secret_access_key: keys.secret }),
    ...(keys?.sessionToken === undefined ? {} : { aws_session_token: keys.sessionToken }),
  };
}
