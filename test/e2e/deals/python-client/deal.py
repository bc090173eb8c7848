"""Settles a deal with the client that openapi-python-client generated, and a wallet.

Reads {"url", "rpcUrl", "buyerKey", "sellerKey"} from the standard input and prints the final transaction and timeline.
"""

import json
import secrets
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, TypeVar
from urllib.parse import urlparse

import httpx
from eth_account import Account
from eth_account.messages import encode_defunct
from marketplace_client import AuthenticatedClient, Client
from marketplace_client.api.agents import agents_register
from marketplace_client.api.checkout import checkout_create
from marketplace_client.api.memory import memory_export, memory_write
from marketplace_client.api.networks import networks_list
from marketplace_client.api.services import listings_create
from marketplace_client.api.transactions import (
    transactions_confirm,
    transactions_deliver,
    transactions_fund,
    transactions_read,
    transactions_read_timeline,
)
from marketplace_client.models.checkout_request import CheckoutRequest
from marketplace_client.models.deliver_request import DeliverRequest
from marketplace_client.models.empty_request import EmptyRequest
from marketplace_client.models.fund_request import FundRequest
from marketplace_client.models.memory_request import MemoryRequest
from marketplace_client.models.registration_request import RegistrationRequest
from marketplace_client.models.service_request import ServiceRequest

facts = json.load(sys.stdin)
URL: str = facts["url"]
Result = TypeVar("Result")
PATIENCE_SECONDS = 180


def until(what: str, look: Callable[[], Result | None]) -> Result:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        found = look()
        if found is not None:
            return found
        time.sleep(0.1)
    raise TimeoutError(what)


def rpc(method: str, *params: Any) -> Any:
    answer = httpx.post(facts["rpcUrl"], json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).json()
    if "error" in answer:
        raise RuntimeError(f"{method}: {answer['error']}")
    return answer["result"]


def send(wallet: Any, call: Any) -> str:
    """Signs and sends a prepared call, and returns its hash once it is in a block."""
    chain_id = int(rpc("eth_chainId"), 16)
    assert chain_id == call.chain_id, (chain_id, call.chain_id)
    fields = {"from": wallet.address, "to": call.to, "data": call.data, "value": hex(int(call.value))}
    signed = wallet.sign_transaction(
        {
            "to": call.to,
            "data": call.data,
            "value": int(call.value),
            "chainId": chain_id,
            "nonce": int(rpc("eth_getTransactionCount", wallet.address, "pending"), 16),
            "gas": int(rpc("eth_estimateGas", fields), 16) * 2,
            "maxFeePerGas": int(rpc("eth_gasPrice"), 16) * 2,
            "maxPriorityFeePerGas": 1,
        }
    )
    tx_hash: str = rpc("eth_sendRawTransaction", signed.raw_transaction.to_0x_hex())
    receipt = until("a receipt", lambda: rpc("eth_getTransactionReceipt", tx_hash))
    assert receipt["status"] == "0x1", receipt
    return tx_hash


def register(wallet: Any, name: str) -> AuthenticatedClient:
    stranger = Client(base_url=URL, raise_on_unexpected_status=True)
    networks = networks_list.sync(client=stranger)
    message = (
        f"{urlparse(URL).netloc} wants you to sign in with your Ethereum account:\n{wallet.address}\n\n"
        f"Register this wallet as an agent.\n\nURI: {URL}\nVersion: 1\nChain ID: {networks.data[0].chain_id}\n"
        f"Nonce: {secrets.token_hex(12)}\nIssued At: {datetime.now(timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')}"
    )
    signature = wallet.sign_message(encode_defunct(text=message)).signature.to_0x_hex()
    body = RegistrationRequest(agent_name=name, wallet_address=wallet.address, message=message, signature=signature)
    registered = agents_register.sync(client=stranger, body=body)
    return AuthenticatedClient(
        base_url=URL,
        token=registered.api_key,
        prefix="",
        auth_header_name="X-API-Key",
        raise_on_unexpected_status=True,
    )


buyer_wallet, seller_wallet = Account.from_key(facts["buyerKey"]), Account.from_key(facts["sellerKey"])
buyer, seller = register(buyer_wallet, "Python buyer"), register(seller_wallet, "Python seller")

listing = ServiceRequest.from_dict(
    {
        "title": "Haiku",
        "description": "Writes a haiku about a block.",
        "category": "multimodal_generation",
        "price": 0.5,
        "priceUnit": "flat",
        "callbackRequired": False,
        "deliveryType": "async",
    }
)
listed = listings_create.sync(client=seller, body=listing)
order = CheckoutRequest.from_dict(
    {"serviceId": listed.data.id, "paymentMethod": "usdc", "requestPayload": {"about": "block 1"}}
)
checked_out = checkout_create.sync(client=buyer, body=order).data
deal = checked_out.transaction_id
for call in checked_out.payment_instructions.calls:
    funding = send(buyer_wallet, call)


def funded() -> Any:
    body = FundRequest(tx_hash=funding)
    answer = transactions_fund.sync_detailed(id=deal, client=buyer, body=body)
    return answer.parsed if answer.status_code == 200 else None


until("the funding is verified", funded)
payload = DeliverRequest.from_dict({"responsePayload": {"haiku": "A block, then silence"}})
delivery = transactions_deliver.sync(id=deal, client=seller, body=payload)
send(seller_wallet, delivery.data.submit_delivery)


def action(name: str) -> Any:
    read = transactions_read.sync(id=deal, client=buyer)
    return next((call for call in read.data.actions if call.action.value == name), None)


def released() -> Any:
    read = transactions_read.sync(id=deal, client=buyer)
    return read.data if read.data.status.value == "released" else None


send(buyer_wallet, until("the buyer may accept", lambda: action("accept")))
until("the release is indexed", released)
confirmed = transactions_confirm.sync(id=deal, client=buyer, body=EmptyRequest())
timeline = transactions_read_timeline.sync(id=deal, client=buyer)

note = MemoryRequest.from_dict({"key": "last-deal", "value": {"transactionId": deal}})
memory_write.sync(client=buyer, body=note, if_none_match="*")
exported = memory_export.sync(client=buyer)

print(
    json.dumps(
        {
            "transaction": confirmed.data.to_dict(),
            "timeline": [type(entry).__name__ for entry in timeline.data],
            "memory": [json.loads(line)["key"] for line in exported.splitlines()],
        }
    )
)
