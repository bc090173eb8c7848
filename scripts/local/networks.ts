/** The networks that the service settles on. */
export const NETWORKS = ["base-sepolia", "base"] as const;

/** A settlement network. */
export type NetworkName = (typeof NETWORKS)[number];

/** EIP-155 chain ids of the networks; the local chains have the same ones. */
export const CHAIN_IDS: Readonly<Record<NetworkName, number>> = { "base-sepolia": 84_532, base: 8_453 };

/** Hardhat's names of the local chains. */
export const HARDHAT_NETWORKS: Readonly<Record<NetworkName, string>> = {
  "base-sepolia": "localBaseSepolia",
  base: "localBase",
};
