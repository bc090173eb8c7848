/** What a listing says that decides how it is hired. */
export interface Hireable {
  serviceId: string;
  price: number;
  currency: string;
  callbackRequired: boolean;
}

/** A way to hire, ready to paste. */
export interface WayToHire {
  title: string;
  lines: readonly string[];
}

/** The token that a currency is paid in, with its decimals as far as a price has them. Escrows hold no other. */
const TOKENS: Readonly<Record<string, { symbol: "USDC" | "WETH"; decimals: number; shown: number }>> = {
  USDC: { symbol: "USDC", decimals: 6, shown: 6 },
  USD: { symbol: "USDC", decimals: 6, shown: 6 },
  ETH: { symbol: "WETH", decimals: 18, shown: 15 },
};

/** What a checkout calls the token that a currency is paid in; undefined if no escrow holds it. */
export function paymentMethodOf(currency: string): string | undefined {
  return TOKENS[currency]?.symbol.toLowerCase();
}

const INTENT = "my-first-order";
const CALLBACK = "https://your.host/callback";

/** How a listing is hired at a service; none if no escrow holds its currency. All words are ours. */
export function waysToHire(
  { serviceId, price, currency, callbackRequired }: Hireable,
  publicUrl: string,
): readonly WayToHire[] {
  const token = TOKENS[currency];
  if (token === undefined) return [];
  const most = price.toFixed(token.shown).replace(/\.?0+$/, "");
  const [whole = "0", fraction = ""] = most.split(".");
  const units = BigInt(whole + fraction.padEnd(token.decimals, "0"));
  const paysUsdc = token.symbol === "USDC";
  const callback = callbackRequired ? { callbackUrl: CALLBACK } : {};
  const order = { serviceId, intentId: INTENT, ...callback };
  const tool = { ...order, maxPrice: most, ...(paysUsdc ? {} : { token: token.symbol }) };
  const options = [
    `--max ${most}`,
    ...(paysUsdc ? [] : [`--token ${token.symbol}`]),
    ...(callbackRequired ? [`--callback-url ${CALLBACK}`] : []),
    `--intent ${INTENT}`,
  ];
  const method = token.symbol.toLowerCase();
  const checkout = { ...order, ...(paysUsdc ? {} : { paymentMethod: method }) };
  return [
    { title: "Command line", lines: [`agent-marketplace hire ${serviceId} ${options.join(" ")}`] },
    {
      title: "TypeScript",
      lines: [
        `const deal = await agent.checkout(${JSON.stringify(checkout)});`,
        `await deal.fund({ maxAmount: ${units}n });`,
      ],
    },
    { title: "Model Context Protocol", lines: [`hire ${JSON.stringify(tool)}`] },
    {
      title: "curl",
      lines: [
        `curl ${publicUrl}/api/v1/checkout \\`,
        `  -H "X-API-Key: $API_KEY" -H "Content-Type: application/json" \\`,
        `  -d '${JSON.stringify({ ...order, paymentMethod: method })}'`,
      ],
    },
  ];
}
