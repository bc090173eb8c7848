import { assert } from "chai";

import { createChainClient } from "../../../api/chain/chain-client.ts";
import { readDeployment } from "../../../api/chain/deployment.ts";
import { ChainUnavailableError, DeploymentFileError, WrongChainError } from "../../../api/chain/errors.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import { doorTo } from "../../fixtures/outage.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

describe("a configuration that confuses the networks", () => {
  it("with the deployment files swapped nothing starts, and the message names file and networks", async () => {
    const { deployments } = await readStack();
    const swapped = { "base-sepolia": deployments.base, base: deployments["base-sepolia"] };
    const error = await rejectionOf(startTestApi({ env: { deploymentFiles: swapped } }), DeploymentFileError);
    assert.include(error.message, deployments.base);
    assert.match(error.message, /is for base \(chain 8453\), but base-sepolia \(chain 84532\) is expected here/);
  });

  it("with the RPC servers swapped nothing starts, and the message names variable and chains", async () => {
    const { networks } = await readStack();
    const rpcUrls = { "base-sepolia": networks.base.rpcUrl, base: networks["base-sepolia"].rpcUrl };
    const error = await rejectionOf(startTestApi({ env: { rpcUrls } }), WrongChainError);
    assert.match(error.message, /RPC_URL_BASE(_SEPOLIA)? serves chain (8453|84532), but base(-sepolia)? is chain/);
  });

  it("a server that was unavailable at the start and then serves another chain isn't trusted", async () => {
    const { networks, deployments } = await readStack();
    const rpc = await doorTo(networks.base.rpcUrl);
    const deployment = await readDeployment(deployments["base-sepolia"], "base-sepolia");
    const client = createChainClient({ network: "base-sepolia", rpcUrl: rpc.url, deployment, attempts: 1 });
    try {
      rpc.isOpen = false;
      await assert.isRejected(client.head(), ChainUnavailableError);
      rpc.isOpen = true;
      for (let n = 0; n < 2; n += 1) await assert.isRejected(client.head(), WrongChainError);
      assert.ok(new WrongChainError("base", 1, 2) instanceof ChainUnavailableError, "clients get 503");
    } finally {
      await rpc.close();
    }
  });
});
