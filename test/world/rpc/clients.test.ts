// @shares
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Contract, JsonRpcProvider, type Log, WebSocketProvider } from 'ethers'
import t, { type Test } from 'tap'
import { createPublicClient, http, webSocket } from 'viem'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { atHead } from '../../feed/replicaCluster.js'
import type { MadeBlock } from '../../ingest/chainMaker.js'
import {
  ledgerAbi,
  ledgerAddress,
  payees,
  payerAddress,
  paymentInput,
  paymentPlan,
  paymentsIn,
} from '../../ingest/payments.js'
import { makeReplayedChain, type ReplayedChain } from '../../ingest/replayedChain.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { until, waitFor } from '../../library/until.js'
import { answersSince, countAnswers, noteAnswers } from '../../rpc/ethersAnswers.js'
import { verifyAnswer } from '../../rpc/proofOracle.js'

const reorganisations = [
  { after: 17, back: 2, blocks: 3 },
  { after: 22, back: 1, blocks: 2 },
]
const [payee = '0x'] = payees
const [payFunction, paidEvent] = ledgerAbi

const hashOf = ({ hash }: MadeBlock) => bytesToHex(hash)

/** Unwound blocks (newest first) and added blocks of each head after the first. */
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

/** Payments to `payee` in the order of a client's events, as lines: those of each head after the first. */
function expectedByHead(chain: ReplayedChain, wanted: string | undefined): string[][] {
  return stepsOf(chain).map((steps) =>
    steps.flatMap(({ made, removed }) => {
      const lines = paymentsIn(made).flatMap((payment, index) =>
        wanted === undefined || payment.payee === wanted
          ? [paymentLine(hashOf(made), index, removed, payment.payee, payment.value)]
          : [],
      )
      return removed ? lines.reverse() : lines
    }),
  )
}

function expectedPayments(chain: ReplayedChain, wanted: string | undefined): string[] {
  return expectedByHead(chain, wanted).flat()
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
/** The blocks that each head adds: one, or a branch. */
const broughtAt = stepsOf(chain).map((steps) => steps.flatMap(({ made, removed }) => (removed ? [] : made)))
const brought = broughtAt.flat()

/**
 * The program that plays the chain, and a function that makes it play all. `watchers` count the heads that each got.
 */
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
      // Clients that request a block from an event find it: no branch replaces it before.
      await waitFor(`${count} heads at every watcher`, () =>
        watchers.every((reported) => reported() === count),
      )
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
  // The subscriptions of the client are sent after this turn, and answered before this call.
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
  // ethers throws an uncaught error if an event comes before it has read the network.
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
  // This call is answered after the client's subscriptions.
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
    // There, removed logs are separate events, for subscribers of one of them.
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

/** Plays the chain. Before each head but the first, `seen` has all blocks of earlier heads. */
async function playWatched(t: Test, steps: Steps, seen: readonly string[]): Promise<void> {
  let count = 0
  for (const lines of expectedByHead(chain, undefined)) {
    await steps.next()
    count += lines.length
    await waitFor(`${count} logs`, () => seen.length >= count)
  }
  t.strictSame(seen, expectedPayments(chain, undefined))
}

async function startPolled(t: Test) {
  const steps = await Steps.listen(t)
  const service = await chain.start(steps.env())
  t.teardown(() => service.stop())
  await steps.reached()
  return { steps, service, url: `${service.origin}/tides` }
}

for (const name of ['HTTP', 'a WebSocket']) {
  t.test(`viem's watchers poll a filter over ${name}, and are told the same`, async (t) => {
    const { steps, url } = await startPolled(t)
    const open =
      name === 'HTTP' ? http(url) : webSocket(`${url.replace('http', 'ws')}/ws`, { reconnect: false })
    /** Methods of the calls that were answered. */
    const answered: string[] = []
    const transport: typeof open = (options) => {
      const { request, ...rest } = open(options)
      const noted: typeof request = async (call) => {
        const result = await request(call)
        answered.push((call as { readonly method: string }).method)
        return result as never
      }
      return { ...rest, request: noted } as never
    }
    const client = createPublicClient({ transport, pollingInterval: 20 })
    const onError = (error: Error) => t.fail(error.message)
    const events: string[] = []
    const unwatch = [
      client.watchContractEvent({
        address: ledgerAddress,
        abi: ledgerAbi,
        eventName: 'Paid',
        poll: true,
        onError,
        onLogs: (logs) => {
          for (const { blockHash, logIndex, removed, args } of logs) {
            events.push(paymentLine(blockHash, logIndex, removed, args.payee, args.value))
          }
        },
      }),
    ]
    const filter = await client.createBlockFilter()
    await until(() => answered.includes('eth_getFilterChanges'))
    await playWatched(t, steps, events)
    t.ok(events.some((line) => line.startsWith('removed')))
    // The filter is read once, and returns the blocks that are still canonical.
    const blocks = await client.getFilterChanges({ filter })
    const present = await Promise.all(
      blocks.map(async (_, at) => (await client.getBlock({ blockNumber: BigInt(7 + at) })).hash),
    )
    t.strictSame(blocks, present)
    t.equal(blocks.at(-1), hashOf(chain.heads.at(-1) as MadeBlock))
    t.ok(await client.uninstallFilter({ filter }))
    await t.rejects(client.getFilterChanges({ filter }), /filter not found/)
    const past = await client.createEventFilter({ address: ledgerAddress, fromBlock: 1n })
    t.equal(
      (await client.getFilterLogs({ filter: past })).length,
      (await client.getLogs({ address: ledgerAddress, fromBlock: 1n })).length,
    )
    for (const stop of unwatch) stop()
    await until(() => answered.filter((method) => method === 'eth_uninstallFilter').length === 2)
    const socket = await (
      client.transport as { getRpcClient?(): Promise<{ close(): void }> }
    ).getRpcClient?.()
    socket?.close()
  })
}

t.test("ethers' contracts listen by a filter over HTTP", async (t) => {
  const { steps, service, url } = await startPolled(t)
  const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: 20 })
  t.teardown(() => provider.destroy())
  const contract = new Contract(
    ledgerAddress,
    ['event Paid(address indexed payer, address indexed payee, uint256 value)'],
    provider,
  )
  const seen: string[] = []
  const answered = await noteAnswers(provider)
  // With a listener for blocks, ethers does not begin again at each of them.
  await provider.on('block', () => {})
  await contract.on('Paid', (_payer, payee, value, { log }: { log: Log }) =>
    seen.push(paymentLine(log.blockHash, log.index, log.removed, payee, value)),
  )
  /** The library has requested changes this number of times, has read the head since, and so uses the next number. */
  const isReady = (changes: number) =>
    countAnswers(answered, 'eth_getFilterChanges') >= changes &&
    answersSince(answered, 'eth_getFilterChanges', 'eth_blockNumber') >= 4
  await until(() => isReady(1))
  let last = chain.heads[0] as MadeBlock
  for (const head of chain.heads.slice(1)) {
    const changes = countAnswers(answered, 'eth_getFilterChanges')
    await steps.next()
    // A stored head is not served yet. A number that decreases must be read before it increases again.
    await atHead(head, [service])
    const looks = countAnswers(answered, 'eth_blockNumber')
    // A head that is no higher than the last is no news to it.
    const isNews = head.number > last.number
    await until(() => countAnswers(answered, 'eth_blockNumber') >= looks + 2)
    await until(() => isReady(changes + (isNews ? 1 : 0)))
    last = head
  }
  const expected = expectedPayments(chain, undefined)
  // Logs taken back are no events of a contract there.
  t.strictSame(
    seen,
    expected.filter((line) => line.startsWith('added')),
  )
})
