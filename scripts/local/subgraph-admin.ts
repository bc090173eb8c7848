import { z } from "zod";

/** Where and how to reach what takes deployments: a graph-node's admin port, or Studio. */
export interface SubgraphAdmin {
  readonly url: string;
  /** Sent as a bearer token. */
  readonly deployKey?: string | undefined;
}

/** A deployment was refused, or nobody answered. */
export class SubgraphAdminError extends Error {}

/** Subgraphs take a while to be read and checked. */
const TIMEOUT_MS = 60_000;
const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
const deployedSchema = z.object({ queries: z.string() });

/** Registers a name. One that is taken stays as it is. */
export async function createSubgraph(admin: SubgraphAdmin, name: string): Promise<void> {
  try {
    await call(admin, "subgraph_create", { name });
  } catch (error) {
    if (!(error instanceof SubgraphAdminError) || !error.message.includes("already exists")) throw error;
  }
}

/**
 * Deploys a compiled subgraph under a name.
 * @param source IPFS hash of its manifest, or the manifest's absolute path for a graph-node that reads files
 * @returns the address for queries
 */
export async function deploySubgraph(
  admin: SubgraphAdmin,
  name: string,
  source: string,
  versionLabel: string,
): Promise<string> {
  const params = { name, ipfs_hash: source, version_label: versionLabel };
  const { queries } = deployedSchema.parse(await call(admin, "subgraph_deploy", params));
  // graph-node answers with a port and a path, Studio with an address.
  const { protocol, hostname } = new URL(admin.url);
  return queries.startsWith(":") ? `${protocol}//${hostname}${queries}` : queries;
}

async function call({ url, deployKey }: SubgraphAdmin, method: string, params: object): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(deployKey === undefined ? {} : { authorization: `Bearer ${deployKey}` }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new SubgraphAdminError(`${url} can't be reached: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const text = await response.text();
  const answer = answerSchema.safeParse(parseJson(text));
  if (!answer.success) {
    throw new SubgraphAdminError(
      `${url} answers ${response.status} and no JSON-RPC: is it a graph-node's admin port? ${text.slice(0, 200)}`,
    );
  }
  if (answer.data.error !== undefined) {
    throw new SubgraphAdminError(`${url} refuses ${method}: ${answer.data.error.message}`);
  }
  return answer.data.result;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
