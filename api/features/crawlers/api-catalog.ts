/** Says which list of links a document of RFC 9264 is. */
export const API_CATALOG_PROFILE = "https://www.rfc-editor.org/info/rfc9727";

/** The links of an API catalogue, and of the service's first page. */
export const CATALOG_LINKS = '</.well-known/api-catalog>; rel="api-catalog"';

/**
 * The service's APIs as a set of links (RFC 9727): each with what describes it for programs and for people, and with its status.
 * @param publicUrl the service's address, without a trailing slash
 */
export function describeApis(publicUrl: string): object {
  const link = (path: string, type: string) => ({ href: publicUrl + path, type });
  const status = [link("/api/v1/market/status", "application/json")];
  const [http, mcp] = [`${publicUrl}/api/v1`, `${publicUrl}/mcp`];
  return {
    linkset: [
      { anchor: `${publicUrl}/.well-known/api-catalog`, item: [{ href: http }, { href: mcp }] },
      {
        anchor: http,
        "service-desc": [link("/openapi.json", "application/json")],
        "service-doc": [link("/guides", "text/html"), link("/llms.txt", "text/plain"), link("/docs", "text/html")],
        status,
      },
      {
        anchor: mcp,
        "service-doc": [link("/guides/mcp", "text/html"), link("/guides/mcp.md", "text/markdown")],
        status,
      },
    ],
  };
}
