import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

/** An address that a name resolved to. */
export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** Asks the DNS for every address of a name. */
export type ResolveHost = (hostname: string) => Promise<ResolvedAddress[]>;

/** Whether a URL may be sent to: the addresses to connect to, or why not. */
export type AddressVerdict = { allowed: true; addresses: ResolvedAddress[] } | { allowed: false; reason: string };

/** The system's resolver, asked anew each time. */
export const resolveBySystem: ResolveHost = async (hostname) => {
  const answers = await lookup(hostname, { all: true, order: "verbatim" });
  return answers.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

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
 * answer must be public.
 * @param allowedPrivateHosts names and addresses of WEBHOOK_ALLOW_PRIVATE_HOSTS: a name is let through whatever it
 *   resolves to, an address whatever name resolves to it
 */
export async function checkAddress(
  url: URL,
  resolve: ResolveHost,
  allowedPrivateHosts: readonly string[],
): Promise<AddressVerdict> {
  if (url.protocol !== "http:" && url.protocol !== "https:") return { allowed: false, reason: "not an http address" };
  const hostname = withoutBrackets(url.hostname);
  const family = isIP(hostname);
  let addresses: ResolvedAddress[];
  if (family !== 0) {
    addresses = [{ address: hostname, family: family === 6 ? 6 : 4 }];
  } else {
    try {
      addresses = await resolve(hostname);
    } catch {
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
