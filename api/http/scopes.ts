import { ApiError } from "./errors.ts";

/** What a mandate can let a key do. */
export const SCOPES = ["read", "buy", "sell", "message", "memory"] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * What a key with a mandate needs for a route. `buyOrSell`: either of the two, for what both parties of a deal do. `none`:
 * the route is closed to such keys, or takes no key.
 */
export type RouteScope = Scope | "buyOrSell" | "none";

/** A key with a mandate needs one of these scopes; empty for a route that is closed to such keys. */
function acceptedBy(scope: RouteScope): readonly Scope[] {
  if (scope === "none") return [];
  return scope === "buyOrSell" ? ["buy", "sell"] : [scope];
}

/**
 * Requires that a key, or a page's session, may call a route.
 * @param route `pageScope`: what a session needs, if that isn't what a key needs
 * @param caller without `scopes` for a key without a mandate, which may call every route
 * @throws ApiError `scope_not_granted`
 */
export function requireScope(
  { scope, pageScope = scope }: { scope: RouteScope; pageScope?: RouteScope },
  caller: { scopes?: readonly Scope[]; isSession?: true } | undefined,
): void {
  const granted = caller?.scopes;
  if (granted === undefined) return;
  const accepted = acceptedBy(caller?.isSession === true ? pageScope : scope);
  if (accepted.some((one) => granted.includes(one))) return;
  throw new ApiError("scope_not_granted", { details: { accepted: [...accepted], granted: [...granted] } });
}
