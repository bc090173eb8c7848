import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

import { isUnknownHost } from "./host-resolver.ts";
import type { ResolvedAddress, ResolveHost } from "./host-resolver.ts";

/** The result of an address check: the addresses to connect to, or why sending isn't allowed. */
export type AddressVerdict = { allowed: true; addresses: ResolvedAddress[] } | { allowed: false; reason: string };

/** The part of IPv6 that is assigned to the public internet. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Whether an address is on the public internet. Special-purpose addresses aren't: private, loopback, link-local,
 * carrier-grade NAT, multicast, documentation, and IPv6 forms that contain an IPv4 address (NAT64, 6to4, Teredo, the
 * IPv4-compatible `::/96`), which could lead to a private one. An IPv4-mapped address is checked as the IPv4 address
 * that it contains.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(GLOBAL_UNICAST)) return false;
  return parsed.range() === "unicast";
}

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, "$1");

/**
 * Checks that a URL leads to the public internet. It resolves the name now and requires every address of the answer to
 * be public. If the DNS doesn't answer, or knows no address of the name, it throws, because the name may
 * resolve a moment later.
 * @param allowedPrivateHosts names and addresses from WEBHOOK_ALLOW_PRIVATE_HOSTS: a name is allowed regardless of what
 *   it resolves to, and an address regardless of the name that resolves to it
 */
export async function checkAddress(
  url: URL,
  resolve: ResolveHost,
  allowedPrivateHosts: readonly string[],
  signal: AbortSignal,
): Promise<AddressVerdict> {
  if (url.protocol !== "http:" && url.protocol !== "https:") return { allowed: false, reason: "not an http address" };
  if (url.username !== "" || url.password !== "") return { allowed: false, reason: "the address has credentials" };
  const hostname = withoutBrackets(url.hostname);
  const family = isIP(hostname);
  let addresses: ResolvedAddress[];
  if (family !== 0) {
    addresses = [{ address: hostname, family: family === 6 ? 6 : 4 }];
  } else {
    try {
      addresses = await resolve(hostname, signal);
    } catch (error) {
      throw isUnknownHost(error) ? new Error("the name doesn't resolve") : error;
    }
  }
  if (addresses.length === 0) throw new Error("the name has no address");
  if (allowedPrivateHosts.includes(hostname)) return { allowed: true, addresses };
  const forbidden = addresses.find(
    ({ address }) => !isPublicAddress(address) && !allowedPrivateHosts.includes(address),
  );
  if (forbidden !== undefined) return { allowed: false, reason: "the address is private, loopback or internal" };
  return { allowed: true, addresses };
}
