// @shares
/**
 * The periods of a governor, as suites of tests pass over them: blocks by `mine` of Hardhat's network helpers, seconds
 * by `time.increase`. The contract has the delays of OpenZeppelin's sample.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import * as helpers from '@nomicfoundation/hardhat-network-helpers'
import t from 'tap'
import {
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  parseAbi,
  publicActions,
  walletActions,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { knownMnemonic } from '../../../src/sources/ingest/develop/knownKeys.js'
import { compile } from '../../rpc/solidityContracts.js'
import { startDev } from '../../service/developerChain.js'

const { network } = createRequire(import.meta.url)('hardhat') as { network: { url: string } }

const abi = parseAbi([
  'function propose(address target, bytes data) returns (uint256)',
  'function castVote(uint256 id)',
  'function queue(uint256 id)',
  'function execute(uint256 id)',
  'function setValue(uint256 wanted)',
  'function state(uint256 id) view returns (uint8)',
  'function value() view returns (uint256)',
  'function votingDelay() view returns (uint256)',
  'function votingPeriod() view returns (uint256)',
  'function timelock() view returns (uint256)',
  'function parentHash() view returns (bytes32)',
  'error UnexpectedState(uint8 current)',
  'error NotReady(uint256 readyAt)',
])
/** States by their names in the contract. */
const state = { pending: 0, active: 1, defeated: 2, succeeded: 3, queued: 4, executed: 5 }

t.test(
  'a proposal is voted on after a day of blocks, passes after a week, and runs after two days',
  async (t) => {
    const { url } = await startDev(t)
    network.url = url
    const account = mnemonicToAccount(knownMnemonic)
    const client = createTestClient({
      mode: 'hardhat',
      account,
      chain: foundry,
      transport: http(url, { timeout: 0 }),
      cacheTime: 0,
      pollingInterval: 20,
    })
      .extend(publicActions)
      .extend(walletActions)
    const { creationCode } = compile(join(packageRoot(), 'test/solidity/Governor.sol'), 'Governor')
    const deployed = await client.deployContract({ abi, bytecode: bytesToHex(creationCode) as Hex })
    const { contractAddress } = await client.waitForTransactionReceipt({ hash: deployed })
    const contract = { address: contractAddress as Hex, abi }
    const read = (functionName: 'value' | 'votingDelay' | 'votingPeriod' | 'timelock' | 'parentHash') =>
      client.readContract({ ...contract, functionName })
    const stateOf = (id: bigint) => client.readContract({ ...contract, functionName: 'state', args: [id] })
    const send = async (functionName: 'castVote' | 'queue' | 'execute', id: bigint) => {
      const hash = await client.writeContract({ ...contract, functionName, args: [id] })
      return client.waitForTransactionReceipt({ hash })
    }
    const propose = async (wanted: bigint) => {
      const data = encodeFunctionData({ abi, functionName: 'setValue', args: [wanted] })
      const args = [contract.address, data] as const
      const hash = await client.writeContract({ ...contract, functionName: 'propose', args })
      return client.waitForTransactionReceipt({ hash })
    }
    const [delay, period, timelock] = (await Promise.all([
      read('votingDelay'),
      read('votingPeriod'),
      read('timelock'),
    ])) as [bigint, bigint, bigint]

    const { blockNumber } = await propose(42n)
    await propose(7n)
    t.equal(await stateOf(0n), state.pending)
    await t.rejects(send('castVote', 0n), /UnexpectedState/, 'no vote before its time')
    await helpers.mineUpTo(blockNumber + delay)
    t.equal(await stateOf(0n), state.pending, 'the last block of the delay')
    await helpers.mine(2)
    t.equal(await stateOf(0n), state.active)
    await send('castVote', 0n)
    await t.rejects(send('queue', 0n), /UnexpectedState/)

    await helpers.mine(period)
    const head = await client.getBlock()
    t.ok(head.number > blockNumber + delay + period)
    t.equal(await stateOf(0n), state.succeeded)
    t.equal(await stateOf(1n), state.defeated, 'nobody voted for the other one')
    t.equal(await read('parentHash'), head.parentHash, 'BLOCKHASH')
    const before = await client.getBlock({ blockNumber: head.number - 1n })
    t.equal(before.hash, head.parentHash)

    await send('queue', 0n)
    await t.rejects(send('execute', 0n), /NotReady/)
    await helpers.time.increase(timelock)
    await send('execute', 0n)
    t.equal(await stateOf(0n), state.executed)
    t.equal(await read('value'), 42n)
    await t.rejects(send('execute', 0n), /UnexpectedState/)
  },
)
