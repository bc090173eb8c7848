/** The windows of the market's figures, as links name them. */
export const WINDOWS = [
  { id: "24h", name: "24 hours" },
  { id: "7d", name: "7 days" },
  { id: "30d", name: "30 days" },
  { id: "all", name: "all time" },
] as const;
