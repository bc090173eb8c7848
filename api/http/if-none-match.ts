/** Whether an `If-None-Match` header names an ETag, by weak comparison. */
export function namesEtag(header: string | undefined, etag: string): boolean {
  const given = (header ?? "").split(",").map((part) => part.trim().replace(/^W\//, ""));
  return given.includes("*") || given.includes(etag.replace(/^W\//, ""));
}
