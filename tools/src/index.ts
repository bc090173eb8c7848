// The package's exports. Inside the package every file imports from the one that defines the name.
export { TOOLS, toolsFor } from "./catalogue.ts";
export type { ToolFormat } from "./catalogue.ts";
export type { ToolContext } from "./context.ts";
export { PAID } from "./deals/outcome.ts";
export { PAYMENT_META, RECEIPT_META } from "./mcp/payments.ts";
export type { PaymentRequired } from "./mcp/payments.ts";
export { createMcpServer } from "./mcp/server.ts";
export type { McpCall, McpEnd, McpHost, OpenCall } from "./mcp/server.ts";
export type { Money } from "./money.ts";
export { toRefusal, ToolRefusal } from "./refusal.ts";
export type { Refusal } from "./refusal.ts";
export { callerSigner, notPossible, walletSigner } from "./signer.ts";
export type { CallToSign, Move, MoveOptions, Order, ShownService, SignatureRequest, Signer } from "./signer.ts";
export type { Tool, ToolHints, ToolResult } from "./tool.ts";
export { untrusted, visibleText } from "./untrusted.ts";
export type { Cut, Origin, Untrusted } from "./untrusted.ts";
