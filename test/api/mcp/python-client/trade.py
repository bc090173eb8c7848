"""Hires, delivers, accepts, disputes and declines through /mcp with the official Python client, and two wallets.

Reads {"url", "rpcUrl", "mode", "serviceId", "buyer", "seller"} from the standard input; buyer and seller are {"apiKey", "privateKey"}.
Prints the deals as their parties last saw them.
"""

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from eth_account import Account
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

facts = json.load(sys.stdin)
PATIENCE_SECONDS = 120
Answer = dict[str, Any]


async def until(what: str, look: Callable[[], Awaitable[Answer | None]]) -> Answer:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        found = await look()
        if found is not None:
            return found
        await asyncio.sleep(0.2)
    raise TimeoutError(what)


class Party:
    """A wallet, and a client that has the key of its agent."""

    def __init__(self, client: Client, private_key: str, rpc: httpx2.AsyncClient) -> None:
        self.client = client
        self.wallet = Account.from_key(private_key)
        self.rpc_client = rpc

    async def rpc(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = (await self.rpc_client.post(facts["rpcUrl"], json=body)).json()
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    async def call(self, name: str, **arguments: Any) -> Answer:
        result = await self.client.call_tool(name, arguments)
        if result.is_error:
            raise RuntimeError(f"{name}: {result.content}")
        answer = result.structured_content
        assert answer == json.loads(result.content[0].text), name
        return answer

    async def refusal(self, name: str, **arguments: Any) -> Answer:
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, (name, result.content)
        return json.loads(result.content[0].text)

    async def send(self, call: Answer) -> str:
        """Signs and sends a prepared call, and returns its hash once it is in a block."""
        fields = {"from": self.wallet.address, "to": call["to"], "data": call["data"], "value": hex(int(call["value"]))}
        signed = self.wallet.sign_transaction(
            {
                "to": call["to"],
                "data": call["data"],
                "value": int(call["value"]),
                "chainId": call["chainId"],
                "nonce": int(await self.rpc("eth_getTransactionCount", self.wallet.address, "pending"), 16),
                "gas": int(await self.rpc("eth_estimateGas", fields), 16) * 2,
                "maxFeePerGas": int(await self.rpc("eth_gasPrice"), 16) * 2,
                "maxPriorityFeePerGas": 1,
            }
        )
        tx_hash: str = await self.rpc("eth_sendRawTransaction", signed.raw_transaction.to_0x_hex())
        receipt = await until("a receipt", lambda: self.rpc("eth_getTransactionReceipt", tx_hash))
        assert receipt["status"] == "0x1", receipt
        return tx_hash

    async def move(self, name: str, **arguments: Any) -> Answer:
        """Calls a tool, signs what it asks for, and repeats it until the service has seen that."""
        arguments["intentId"] = str(uuid.uuid4())
        asked = await self.call(name, **arguments)
        assert asked["result"] == "signature_required", asked
        for call in asked["signature"]["calls"]:
            tx_hash = await self.send(call)
        if name == "hire":
            return await self.call(name, **arguments, txHash=tx_hash)

        async def repeat() -> Answer | None:
            answer = await self.call(name, **arguments)
            return answer if answer["result"] == "done" else None

        return await until(f"{name} is done", repeat)

    async def hire(self, topic: str) -> str:
        order = {"serviceId": facts["serviceId"], "maxPrice": "2.50", "request": {"topic": topic}}
        paid = await self.move("hire", **order, waitSeconds=0)
        assert paid["state"] == "funded", paid
        return str(paid["dealId"])

    async def has_job(self, deal_id: str) -> None:
        async def look() -> Answer | None:
            jobs = (await self.call("my_jobs"))["jobs"]
            return next((job for job in jobs if job["dealId"] == deal_id), None)

        await until("the job is in the seller's list", look)


async def trade(buyer: Party, seller: Party) -> Answer:
    names = [tool.name for tool in (await buyer.client.list_tools()).tools]
    released, disputed, declined = [await buyer.hire(topic) for topic in ("one", "two", "three")]
    for deal_id in (released, disputed, declined):
        await seller.has_job(deal_id)
    for deal_id in (released, disputed):
        await seller.move("deliver", dealId=deal_id, payload={"summary": "Two risks."})
    await buyer.move("accept", dealId=released)
    await buyer.move("dispute", dealId=disputed, reason="It names no risk.")
    await seller.move("decline", dealId=declined)
    stranger = await buyer.refusal("get_deal", dealId="txn_0")
    deals = [await buyer.call("get_deal", dealId=deal_id) for deal_id in (released, disputed, declined)]
    return {"tools": names, "refused": stranger["code"], "states": [deal["state"] for deal in deals]}


async def main() -> None:
    def http(role: str) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {facts[role]['apiKey']}"}
        return httpx2.AsyncClient(headers=headers, timeout=60)

    def client(session: httpx2.AsyncClient) -> Client:
        return Client(streamable_http_client(f"{facts['url']}/mcp", http_client=session), mode=facts["mode"])

    async with httpx2.AsyncClient(timeout=60) as rpc, http("buyer") as one, http("seller") as two:
        async with client(one) as buyer, client(two) as seller:
            parties = [
                Party(connected, facts[role]["privateKey"], rpc)
                for role, connected in (("buyer", buyer), ("seller", seller))
            ]
            print(json.dumps(await trade(*parties)))


asyncio.run(main())
