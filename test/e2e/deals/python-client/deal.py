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
from marketplace_client.api.agents import post_api_v1_auth_register
from marketplace_client.api.checkout import post_api_v1_checkout
from marketplace_client.api.memory import get_api_v1_memory_export, post_api_v1_memory
from marketplace_client.api.networks import get_api_v1_networks
from marketplace_client.api.services import post_api_v1_services
from marketplace_client.api.transactions import (
    get_api_v1_transactions_by_id,
    get_api_v1_transactions_by_id_timeline,
    post_api_v1_transactions_by_id_confirm,
    post_api_v1_transactions_by_id_deliver,
    post_api_v1_transactions_by_id_fund,
)
from marketplace_client.models.post_api_v1_auth_register_body import PostApiV1AuthRegisterBody
from marketplace_client.models.post_api_v1_checkout_body import PostApiV1CheckoutBody
from marketplace_client.models.post_api_v1_memory_body import PostApiV1MemoryBody
from marketplace_client.models.post_api_v1_services_body import PostApiV1ServicesBody
from marketplace_client.models.post_api_v1_transactions_by_id_confirm_body import (
    PostApiV1TransactionsByIdConfirmBody,
)
from marketplace_client.models.post_api_v1_transactions_by_id_deliver_body import (
    PostApiV1TransactionsByIdDeliverBody,
)
from marketplace_client.models.post_api_v1_transactions_by_id_fund_body import PostApiV1TransactionsByIdFundBody

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
    networks = get_api_v1_networks.sync(client=stranger)
    message = (
        f"{urlparse(URL).netloc} wants you to sign in with your Ethereum account:\n{wallet.address}\n\n"
        f"Register this wallet as an agent.\n\nURI: {URL}\nVersion: 1\nChain ID: {networks.data[0].chain_id}\n"
        f"Nonce: {secrets.token_hex(12)}\nIssued At: {datetime.now(timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')}"
    )
    signature = wallet.sign_message(encode_defunct(text=message)).signature.to_0x_hex()
    body = PostApiV1AuthRegisterBody(
        agent_name=name, wallet_address=wallet.address, message=message, signature=signature
    )
    registered = post_api_v1_auth_register.sync(client=stranger, body=body)
    return AuthenticatedClient(
        base_url=URL,
        token=registered.api_key,
        prefix="",
        auth_header_name="X-API-Key",
        raise_on_unexpected_status=True,
    )


buyer_wallet, seller_wallet = Account.from_key(facts["buyerKey"]), Account.from_key(facts["sellerKey"])
buyer, seller = register(buyer_wallet, "Python buyer"), register(seller_wallet, "Python seller")

listing = PostApiV1ServicesBody.from_dict(
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
listed = post_api_v1_services.sync(client=seller, body=listing)
order = PostApiV1CheckoutBody.from_dict(
    {"serviceId": listed.data.id, "paymentMethod": "usdc", "requestPayload": {"about": "block 1"}}
)
checked_out = post_api_v1_checkout.sync(client=buyer, body=order).data
deal = checked_out.transaction_id
for call in checked_out.payment_instructions.calls:
    funding = send(buyer_wallet, call)


def funded() -> Any:
    body = PostApiV1TransactionsByIdFundBody(tx_hash=funding)
    answer = post_api_v1_transactions_by_id_fund.sync_detailed(id=deal, client=buyer, body=body)
    return answer.parsed if answer.status_code == 200 else None


until("the funding is verified", funded)
payload = PostApiV1TransactionsByIdDeliverBody.from_dict({"responsePayload": {"haiku": "A block, then silence"}})
delivery = post_api_v1_transactions_by_id_deliver.sync(id=deal, client=seller, body=payload)
send(seller_wallet, delivery.data.submit_delivery)


def action(name: str) -> Any:
    read = get_api_v1_transactions_by_id.sync(id=deal, client=buyer)
    return next((call for call in read.data.actions if call.action.value == name), None)


def released() -> Any:
    read = get_api_v1_transactions_by_id.sync(id=deal, client=buyer)
    return read.data if read.data.status.value == "released" else None


send(buyer_wallet, until("the buyer may accept", lambda: action("accept")))
until("the release is indexed", released)
confirmed = post_api_v1_transactions_by_id_confirm.sync(
    id=deal, client=buyer, body=PostApiV1TransactionsByIdConfirmBody()
)
timeline = get_api_v1_transactions_by_id_timeline.sync(id=deal, client=buyer)

note = PostApiV1MemoryBody.from_dict({"key": "last-deal", "value": {"transactionId": deal}})
post_api_v1_memory.sync(client=buyer, body=note, if_none_match="*")
exported = get_api_v1_memory_export.sync(client=buyer)

print(
    json.dumps(
        {
            "transaction": confirmed.data.to_dict(),
            "timeline": [type(entry).__name__ for entry in timeline.data],
            "memory": [json.loads(line)["key"] for line in exported.splitlines()],
        }
    )
)
