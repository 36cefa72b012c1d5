import { setImmediate as nextTurn } from 'node:timers/promises'
import { Contract, type Log, WebSocketProvider } from 'ethers'
import t, { type Test } from 'tap'
import { createPublicClient, http, webSocket } from 'viem'
import { bytesToHex } from '../../src/primitives/bytes.js'
import type { MadeBlock } from '../chainMaker.js'
import {
  ledgerAbi,
  ledgerAddress,
  payees,
  payerAddress,
  paymentInput,
  paymentPlan,
  paymentsIn,
} from '../payments.js'
import { verifyAnswer } from '../proofOracle.js'
import { makeReplayedChain, type ReplayedChain } from '../replayedChain.js'
import { Steps } from '../steppedReplay.js'
import { until, waitFor } from '../until.js'

const reorganisations = [
  { after: 17, back: 2, blocks: 3 },
  { after: 22, back: 1, blocks: 2 },
]
const [payee = '0x'] = payees
const [payFunction, paidEvent] = ledgerAbi

const hashOf = ({ hash }: MadeBlock) => bytesToHex(hash)

/** Blocks taken back (newest first) and brought by each head after the first. */
function stepsOf({ heads, blocks, branches }: ReplayedChain): { made: MadeBlock; removed: boolean }[][] {
  const known = new Map<string, MadeBlock>(
    [...blocks, ...branches.flat()].map((made) => [hashOf(made), made]),
  )
  const lineOf = (head: MadeBlock | undefined) => {
    const line: MadeBlock[] = []
    let made: MadeBlock | undefined = head
    for (; made !== undefined; made = known.get(bytesToHex(made.block.header.parentHash))) line.unshift(made)
    return line
  }
  return heads.slice(1).map((head, index) => {
    const before = lineOf(heads[index])
    const after = lineOf(head)
    const back = before.filter((made) => !after.includes(made)).reverse()
    return [
      ...back.map((made) => ({ made, removed: true })),
      ...after.filter((made) => !before.includes(made)).map((made) => ({ made, removed: false })),
    ]
  })
}

/** Payments to `payee` as a client is told of them, as lines. */
function expectedPayments(chain: ReplayedChain, wanted: string | undefined): string[] {
  return stepsOf(chain)
    .flat()
    .flatMap(({ made, removed }) => {
      const lines = paymentsIn(made).flatMap((payment, index) =>
        wanted === undefined || payment.payee === wanted
          ? [paymentLine(hashOf(made), index, removed, payment.payee, payment.value)]
          : [],
      )
      return removed ? lines.reverse() : lines
    })
}

function paymentLine(block: string, index: number, removed: boolean, to: unknown, value: unknown): string {
  return `${removed ? 'removed' : 'added'} ${block} ${index} ${to} ${value}`
}

const chain = await makeReplayedChain(t, {
  length: 25,
  from: 6,
  intervalMs: 1,
  reorganisations,
  planOf: paymentPlan,
})
/** The blocks that each head brings: one, or a branch. */
const broughtAt = stepsOf(chain).map((steps) => steps.flatMap(({ made, removed }) => (removed ? [] : made)))
const brought = broughtAt.flat()

/** The program that plays the chain, and what lets it play all. `watchers` say how many heads each was told of. */
async function startStepped(t: Test) {
  const steps = await Steps.listen(t)
  const service = await chain.start(steps.env())
  t.teardown(() => service.stop())
  await steps.reached()
  const play = async (watchers: readonly (() => number)[]) => {
    let count = 0
    for (const blocks of broughtAt) {
      await steps.next()
      count += blocks.length
      // Clients that ask for a block that they were told of find it: no branch takes its place before.
      await waitFor(`${count} heads at every watcher`, () => watchers.every((told) => told() === count))
    }
  }
  return { service, play, url: `${service.origin.replace('http', 'ws')}/tides/ws` }
}

t.test("viem's watchers are told of each head and log, and of reorganisations", async (t) => {
  const { play, url } = await startStepped(t)
  const client = createPublicClient({ transport: webSocket(url, { reconnect: false }) })
  const onError = (error: Error) => t.fail(error.message)
  const blocks: string[] = []
  const numbers: bigint[] = []
  const events: string[] = []
  const contractEvents: string[] = []
  await client.getChainId()
  const unwatch = [
    client.watchBlocks({ onBlock: ({ hash }) => blocks.push(hash), onError }),
    client.watchBlockNumber({ onBlockNumber: (number) => numbers.push(number), onError }),
    client.watchEvent({
      address: ledgerAddress,
      event: paidEvent,
      args: { payee },
      onError,
      onLogs: (logs) => {
        for (const { blockHash, logIndex, removed, args } of logs) {
          events.push(paymentLine(blockHash, logIndex, removed, args.payee, args.value))
        }
      },
    }),
    client.watchContractEvent({
      address: ledgerAddress,
      abi: ledgerAbi,
      eventName: 'Paid',
      args: { payer: payerAddress },
      onError,
      onLogs: (logs) => {
        for (const { blockHash, logIndex, removed, args } of logs) {
          contractEvents.push(paymentLine(blockHash, logIndex, removed, args.payee, args.value))
        }
      },
    }),
    client.watchEvent({
      address: payee,
      onError,
      onLogs: () => t.fail('the address emits no logs'),
    }),
  ]
  // What they subscribe to is on its way after this turn, and answered before this.
  await nextTurn()
  await client.getChainId()
  await play([() => blocks.length, () => numbers.length])
  t.strictSame(blocks, brought.map(hashOf))
  t.strictSame(
    numbers,
    brought.map(({ number }) => BigInt(number)),
  )
  for (const [seen, wanted] of [
    [events, payee],
    [contractEvents, undefined],
  ] as const) {
    const expected = expectedPayments(chain, wanted)
    await until(() => seen.length >= expected.length)
    t.strictSame(seen, expected)
    t.ok(seen.some((line) => line.startsWith('removed')))
  }
  for (const stop of unwatch) stop()
  const socket = await client.transport.getRpcClient()
  socket.close()
})

t.test("viem's questions over HTTP are answered", async (t) => {
  const { service, play } = await startStepped(t)
  await play([])
  const client = createPublicClient({ transport: http(`${service.origin}/tides`) })
  const head = chain.blocks.at(-1) as MadeBlock
  await waitFor(
    'the head',
    async () => (await client.getBlockNumber({ cacheTime: 0 })) === BigInt(head.number),
  )
  t.equal(await client.getChainId(), 7357)
  const block = await client.getBlock({ includeTransactions: true, blockNumber: 11n })
  const made = chain.blocks[10] as MadeBlock
  t.equal(block.hash, hashOf(made))
  t.equal(block.stateRoot, bytesToHex(made.block.header.stateRoot))
  t.strictSame(
    block.transactions.map(({ hash }) => hash),
    made.block.transactions.map((tx) => bytesToHex(tx.hash())),
  )
  const { value: paid = 0n } =
    chain.blocks.flatMap(paymentsIn).findLast((payment) => payment.payee === payee) ?? {}
  const slot = `0x${payee.slice(2).toLowerCase().padStart(64, '0')}` as const
  const word = `0x${paid.toString(16).padStart(64, '0')}` as const
  t.ok(paid > 0n)
  t.equal(await client.getStorageAt({ address: ledgerAddress, slot }), word)
  const proof = await client.getProof({ address: ledgerAddress, storageKeys: [slot] })
  t.equal(proof.storageProof[0]?.value, paid)
  const raw = (await service.call('eth_getProof', [ledgerAddress, [slot], 'latest'])).result
  t.strictSame(proof.accountProof, raw.accountProof)
  t.strictSame(proof.storageProof[0]?.proof, raw.storageProof[0].proof)
  t.equal((await verifyAnswer(bytesToHex(head.block.header.stateRoot), raw))[0], word)
  const data = paymentInput({ payee, value: 5n })
  t.equal((await client.call({ account: payerAddress, to: ledgerAddress, data })).data, word)
  const { result } = await client.simulateContract({
    account: payerAddress,
    address: ledgerAddress,
    abi: [payFunction],
    functionName: 'pay',
    args: [payee as `0x${string}`, 5n],
  })
  t.equal(result, paid)
  const gas = await client.estimateGas({ account: payerAddress, to: ledgerAddress, data })
  t.ok(gas > 21_000n && gas < 60_000n, `${gas} gas`)
  await t.rejects(client.getBlock({ blockNumber: 99n }), { name: 'BlockNotFoundError' })
})

t.test("ethers' WebSocketProvider is told of each head and log", async (t) => {
  const { play, url } = await startStepped(t)
  const provider = new WebSocketProvider(url)
  // ethers throws into the void where an event comes before it knows the network.
  await provider.getNetwork()
  const numbers: number[] = []
  const logs: string[] = []
  const contractLogs: string[] = []
  const contract = new Contract(
    ledgerAddress,
    ['event Paid(address indexed payer, address indexed payee, uint256 value)'],
    provider,
  )
  const lineOf = (log: Log, decoded = contract.interface.parseLog(log)?.args) =>
    paymentLine(log.blockHash, log.index, log.removed, decoded?.payee, decoded?.value)
  await provider.on('block', (number: number) => numbers.push(number))
  const topics = [
    contract.interface.getEvent('Paid')?.topicHash ?? '',
    null,
    `0x${payee.slice(2).toLowerCase().padStart(64, '0')}`,
  ]
  await provider.on({ address: ledgerAddress, topics }, (log: Log) => logs.push(lineOf(log)))
  await contract.on('Paid', (_payer, _payee, _value, { log }: { log: Log }) => contractLogs.push(lineOf(log)))
  // Answered after what it has subscribed to.
  await provider.send('eth_chainId', [])
  await play([() => numbers.length])
  t.strictSame(
    numbers,
    brought.map(({ number }) => number),
  )
  for (const [seen, wanted] of [
    [logs, payee],
    [contractLogs, undefined],
  ] as const) {
    // Logs taken back are events of their own there, for whoever waits for one of them.
    const expected = expectedPayments(chain, wanted).filter((line) => line.startsWith('added'))
    await until(() => seen.length >= expected.length)
    t.strictSame(seen, expected)
  }
  const head = chain.heads.at(-1) as MadeBlock
  const block = await provider.getBlock('latest')
  t.equal(block?.hash, hashOf(head))
  t.equal((await provider.getNetwork()).chainId, 7357n)
  t.equal(await provider.getBlock(99), null)
  await provider.destroy()
})
