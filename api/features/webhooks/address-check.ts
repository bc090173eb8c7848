import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

import { isUnknownHost } from "./host-resolver.ts";
import type { ResolvedAddress, ResolveHost } from "./host-resolver.ts";

/** Whether a URL may be sent to: the addresses to connect to, or why not. */
export type AddressVerdict = { allowed: true; addresses: ResolvedAddress[] } | { allowed: false; reason: string };

/** The part of IPv6 that has been given out for the public internet. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Whether an address is on the public internet. Everything that has a special purpose is not: private, loopback,
 * link-local, carrier-grade NAT, multicast, documentation, and IPv6 forms that carry an IPv4 address inside (NAT64,
 * 6to4, Teredo, the IPv4-compatible `::/96`), which could lead to a private one. An IPv4-mapped address is judged as the IPv4 address in it.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(GLOBAL_UNICAST)) return false;
  return parsed.range() === "unicast";
}

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, "$1");

/**
 * The address check of specification section 6 and decision 39: the name is resolved now, and every address of the
 * answer must be public. When the DNS does not answer, that error flies: the name may be all right a moment later.
 * @param allowedPrivateHosts names and addresses of WEBHOOK_ALLOW_PRIVATE_HOSTS: a name is let through whatever it
 *   resolves to, an address whatever name resolves to it
 */
export async function checkAddress(
  url: URL,
  resolve: ResolveHost,
  allowedPrivateHosts: readonly string[],
  signal: AbortSignal,
): Promise<AddressVerdict> {
  if (url.protocol !== "http:" && url.protocol !== "https:") return { allowed: false, reason: "not an http address" };
  const hostname = withoutBrackets(url.hostname);
  const family = isIP(hostname);
  let addresses: ResolvedAddress[];
  if (family !== 0) {
    addresses = [{ address: hostname, family: family === 6 ? 6 : 4 }];
  } else {
    try {
      addresses = await resolve(hostname, signal);
    } catch (error) {
      if (!isUnknownHost(error)) throw error;
      return { allowed: false, reason: "the name does not resolve" };
    }
  }
  if (addresses.length === 0) return { allowed: false, reason: "the name has no address" };
  if (allowedPrivateHosts.includes(hostname)) return { allowed: true, addresses };
  const forbidden = addresses.find(
    ({ address }) => !isPublicAddress(address) && !allowedPrivateHosts.includes(address),
  );
  if (forbidden !== undefined) return { allowed: false, reason: "the address is private, loopback or internal" };
  return { allowed: true, addresses };
}
