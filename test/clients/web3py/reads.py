"""What a script with web3.py does first over a WebSocket. Prints what it found as JSON; URL and FACTS come from the environment."""

import asyncio
import json
import os

from web3 import AsyncWeb3, WebSocketProvider

abi = [
    {
        "type": "function",
        "name": "totalSupply",
        "inputs": [],
        "outputs": [{"type": "uint256", "name": ""}],
        "stateMutability": "view",
    },
    {
        "type": "event",
        "name": "Transfer",
        "anonymous": False,
        "inputs": [
            {"type": "address", "name": "from", "indexed": True},
            {"type": "address", "name": "to", "indexed": True},
            {"type": "uint256", "name": "value", "indexed": False},
        ],
    },
]


async def main():
    facts = json.loads(os.environ["FACTS"])
    found = {}
    async with AsyncWeb3(WebSocketProvider(os.environ["TIDEGATE_URL"])) as w3:
        ada, tide = (w3.to_checksum_address(facts[name]) for name in ("ada", "tide"))
        found["connected"] = await w3.is_connected()
        found["chainId"] = await w3.eth.chain_id
        found["head"] = await w3.eth.block_number
        block = await w3.eth.get_block("latest")
        found["hash"] = block["hash"].to_0x_hex()
        found["balance"] = str(await w3.eth.get_balance(ada))
        found["nonce"] = await w3.eth.get_transaction_count(ada)
        token = w3.eth.contract(address=tide, abi=abi)
        found["supply"] = str(await token.functions.totalSupply().call())
        logs = await token.events.Transfer.get_logs(from_block=0)
        found["transfers"] = len(logs)
        receipt = await w3.eth.wait_for_transaction_receipt(facts["hash"])
        found["receiptBlock"] = receipt["blockNumber"]
        async with w3.batch_requests() as batch:
            batch.add(w3.eth.get_block(0))
            batch.add(w3.eth.get_balance(ada))
            batch.add(token.functions.totalSupply())
            genesis, balance, supply = await batch.async_execute()
        found["batch"] = [genesis["number"], str(balance), str(supply)]
        heads = await w3.eth.subscribe("newHeads")
        logs = await w3.eth.subscribe("logs", {"address": tide})
        found["subscriptions"] = [heads, logs]
        found["unsubscribed"] = [await w3.eth.unsubscribe(heads), await w3.eth.unsubscribe(logs)]
        try:
            await w3.eth.get_block(10**9)
        except Exception as error:
            found["unknownBlock"] = type(error).__name__
    print(json.dumps(found))


asyncio.run(main())
