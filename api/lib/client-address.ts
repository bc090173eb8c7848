import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

const NETWORK_GROUPS = 4;

/**
 * The client behind an address: an IPv4 address or the /64 network of an IPv6 address, because its owner has all addresses
 * of it. Whatever isn't an address counts as one client.
 * @example clientOf("2001:db8:0:1::7") // "2001:db8:0:1::/64"
 */
export function clientOf(ip: string): string {
  const [plain = ""] = ip.split("%");
  const family = isIP(plain);
  if (family === 0) return "unknown";
  if (family === 4) return plain;
  // Turns an IPv4-mapped address into the IPv4 address.
  const address = ipaddr.process(plain);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const network = address.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}
