import { isIPv4, isIPv6 } from "node:net";

const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The client behind an address: an IPv4 address or the /64 network of an IPv6 address, because its owner has all addresses
 * of it. Whatever isn't an address counts as one client.
 * @example clientOf("2001:db8:0:1::7") // "2001:db8:0:1::/64"
 */
export function clientOf(ip: string): string {
  const address = MAPPED_IPV4.exec(ip)?.[1] ?? ip;
  if (isIPv4(address)) return address;
  const [plain = ""] = address.split("%");
  if (!isIPv6(plain)) return "unknown";
  const [head = "", tail] = plain.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const [before, after] = [groups(head), groups(tail ?? "")];
  // An embedded IPv4 address at the end takes two groups; it is never in the first half.
  const width = (list: string[]) => list.length + (list.at(-1)?.includes(".") === true ? 1 : 0);
  const zeros = tail === undefined ? 0 : IPV6_GROUPS - width(before) - width(after);
  const network = [...before, ...Array.from({ length: zeros }, () => "0"), ...after].slice(0, NETWORK_GROUPS);
  return `${network.map((group) => parseInt(group, 16).toString(16)).join(":")}::/64`;
}
