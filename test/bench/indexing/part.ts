/** What every part of `npm run bench:indexing` gets. */
export interface IndexingBench {
  /** Holds data and logs of the part. */
  dir: string;
  say: (text: string) => void;
  /** Live deals, and how many of them begin in a second. */
  deals: number;
  rate: number;
  /** How long graph-node is down by the chain's clock, and how many deals settle in each second of it. */
  downtimeSeconds: number;
  downtimeRate: number;
  /** Deals on the chain that the two subgraphs of `mapping` index. */
  mappedDeals: number;
  /** Escrows in the subgraph that is queried, and how often each query is sent. */
  escrows: number;
  repeats: number;
}

/** The result of a part. A fault is something that the bench must never find. */
export interface PartResult {
  faults: string[];
  [figure: string]: unknown;
}
