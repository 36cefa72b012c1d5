/**
 * Actions of a victim besides its calls, while others attack. It subscribes to the heads and logs of its own chain, to
 * which it sends transactions. It also submits to a rollup network, and reads statuses.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Wallet } from 'ethers'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import { contracts, testKeys } from '../ingest/chainMaker.js'
import { once, waitFor } from '../library/until.js'
import { makeTransaction, type WrittenTransaction } from '../rollup/invokeTransactions.js'
import { hex, type Json } from '../rpc/demoChain.js'
import { post } from '../service/httpClient.js'

interface Event {
  readonly seq: number
  readonly result: Json
}

/** Asks a network with a key. */
async function ask(url: string, method: string, params: unknown): Promise<unknown> {
  const { text } = await post(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  const { result, error } = JSON.parse(text) as { readonly result?: unknown; readonly error?: unknown }
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return result
}

/** Time between two transactions: some in each block. */
const sendMs = 300

/** Subscriptions to `newHeads` and `logs`; their events are compared with the chain. */
export class VictimStreams {
  readonly #url: string
  readonly #socket: WebSocket
  readonly #events = { newHeads: [] as Event[], logs: [] as Event[] }
  #nonce = 0
  #isOver = false

  private constructor(origin: string, key: string) {
    this.#url = `${origin}/own/v3/${key}`
    this.#socket = new WebSocket(`${origin.replace('http', 'ws')}/own/ws/v3/${key}`)
  }

  static async open(origin: string, key: string): Promise<VictimStreams> {
    const streams = new VictimStreams(origin, key)
    await once(streams.#socket, 'open')
    await streams.#subscribe('newHeads')
    await streams.#subscribe('logs', { address: contracts.store })
    void streams.#send()
    return streams
  }

  async #subscribe(kind: 'newHeads' | 'logs', ...criteria: unknown[]): Promise<void> {
    let id: string | undefined
    const answered = new Promise<void>((resolve) => {
      this.#socket.on('message', (data) => {
        const message = JSON.parse(String(data))
        if (message.id === kind) {
          id = message.result
          resolve()
        } else if (id !== undefined && message.params?.subscription === id)
          this.#events[kind].push(message.params)
      })
    })
    const params = [kind, ...criteria]
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id: kind, method: 'eth_subscribe', params }))
    await answered
  }

  /** Makes the contract log a word repeatedly. */
  async #send(): Promise<void> {
    const wallet = new Wallet(hex(testKeys[2] ?? new Uint8Array(0)))
    const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 1, gasLimit: 200_000 }
    while (!this.#isOver) {
      const word = this.#nonce.toString(16).padStart(64, '0')
      const fields = { type: 2, chainId: 7357, to: contracts.store, data: `0x${word}${word}`, ...fees }
      const raw = await wallet.signTransaction({ ...fields, nonce: this.#nonce })
      const isSent = await ask(this.#url, 'eth_sendRawTransaction', [raw]).then(
        () => true,
        () => this.#isOver,
      )
      if (isSent) this.#nonce++
      await sleep(sendMs)
    }
  }

  /** Expects each head and log up to the present head once, in the order of the chain. */
  async expectAll(t: Test, when: string): Promise<void> {
    const head = Number(await ask(this.#url, 'eth_blockNumber', []))
    const { newHeads, logs } = this.#events
    await waitFor(`head ${head} to come`, () => Number(newHeads.at(-1)?.result.number ?? -1) >= head)
    const heads = newHeads.filter(({ result }) => Number(result.number) <= head)
    const [first] = heads
    const from = Number(first?.result.number ?? head + 1)
    const wrong = (await Promise.all(heads.map((event, at) => this.#wrongHead(event, from + at)))).flat()
    t.same(wrong, [], `${when}: ${heads.length} heads, each once, in order, as the chain has it`)
    const range = { address: contracts.store, fromBlock: '0x0', toBlock: `0x${head.toString(16)}` }
    const held = (await ask(this.#url, 'eth_getLogs', [range])) as Json[]
    await waitFor(`${held.length} logs to come`, () => logs.length >= held.length)
    const came = logs.slice(0, held.length)
    t.same(
      came.map(({ result }) => result),
      held,
      `${when}: ${held.length} logs, each once, in order`,
    )
    for (const events of [newHeads, logs]) {
      const gap = events.find(({ seq }, at) => seq !== (events[0]?.seq ?? 0) + at)
      t.equal(gap, undefined, `${when}: none is missing or doubled`)
    }
  }

  async #wrongHead({ result }: Event, number: number): Promise<string[]> {
    const block = (await ask(this.#url, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, false])) as Json
    return Object.keys(result)
      .filter((name) => JSON.stringify(result[name]) !== JSON.stringify(block[name] ?? null))
      .map((name) => `${name} of block ${number}`)
  }

  close(): void {
    this.#isOver = true
    this.#socket.terminate()
  }
}

/** The same senders and nonces as those of the attackers ({@link makeTransaction}). */
const senders = 20

/** Submissions that no sequencer takes, so that their statuses stay. */
export class VictimSubmissions {
  readonly #url: string
  /** The answer to a question for each status. */
  readonly #statuses = new Map<string, string>()
  #submitted = 0

  constructor(origin: string, key: string) {
    this.#url = `${origin}/roll/v3/${key}`
  }

  /** Submits some more transactions, and reads the status of each submission. */
  async expectAll(t: Test, when: string): Promise<void> {
    for (let more = 0; more < 4; more++) {
      const sender = this.#submitted % senders
      const nonce = Math.floor(this.#submitted++ / senders)
      await this.#submit(makeTransaction(sender, nonce, { calldata: ['0x5ea1'] }))
    }
    const changed: string[] = []
    for (const [hash, status] of this.#statuses) {
      const now = await this.#statusOf(hash)
      if (now !== status) changed.push(`${hash} was ${status}, is ${now}`)
    }
    t.same(changed, [], `${when}: ${this.#statuses.size} submissions are as they were`)
  }

  async #submit(transaction: WrittenTransaction): Promise<void> {
    const added = await ask(this.#url, 'rollupx_addInvokeTransaction', { invoke_transaction: transaction })
    const { transaction_hash: hash } = added as { readonly transaction_hash: string }
    this.#statuses.set(hash, await this.#statusOf(hash))
  }

  async #statusOf(hash: string): Promise<string> {
    return JSON.stringify(await ask(this.#url, 'rollupx_getTransactionStatus', [hash]))
  }
}
