"""What a script with starknet.py does first. Prints what it found as JSON; the URL comes from the environment."""

import asyncio
import json
import os

from starknet_py.net.account.account import Account
from starknet_py.net.client_models import Call
from starknet_py.net.full_node_client import FullNodeClient
from starknet_py.net.models import StarknetChainId
from starknet_py.net.signer.key_pair import KeyPair


async def main():
    client = FullNodeClient(node_url=os.environ["TIDEGATE_URL"])
    account = Account(
        address="0x71de", client=client, key_pair=KeyPair.from_private_key(0x1234), chain=StarknetChainId.SEPOLIA
    )
    call = Call(to_addr=0x55, selector=0x123, calldata=[1, 2])
    found = {"nonces": [], "hashes": []}
    for options in ({}, {"auto_estimate_tip": True}):
        found["nonces"].append(await account.get_nonce())
        # Without resource bounds the package asks for `auto_estimate`, and that is all it has to be given.
        sent = await account.execute_v3(call, auto_estimate=True, **options)
        found["hashes"].append(hex(sent.transaction_hash))
        status = await client.get_transaction_status(sent.transaction_hash)
        found["status"] = status.finality_status.value
        await client.wait_for_tx(sent.transaction_hash, check_interval=0.02)
    found["block"] = await client.get_block_number()
    found["chain"] = await client.get_chain_id()
    try:
        await account.execute_v3(call, nonce=0, auto_estimate=True)
    except Exception as error:
        found["again"] = str(error)
    print(json.dumps(found))


asyncio.run(main())
