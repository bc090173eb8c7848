/**
 * What crawlers may read (RFC 9309): pages and documents. The API is for agents, but pages take what they show from its open part.
 * @param publicUrl the service's address, without a trailing slash
 */
export function describeRobots(publicUrl: string): string {
  return `User-agent: *
Allow: /api/v1/market/
Disallow: /api/
Disallow: /v1/
Disallow: /mcp
Disallow: /downloads/
Disallow: /search
Disallow: /me

Sitemap: ${publicUrl}/sitemap.xml
`;
}
