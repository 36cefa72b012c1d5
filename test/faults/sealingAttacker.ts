/**
 * Entry of a thread that attacks the server with one key, by one kind of attack, until it is ended. It reports the
 * number of its attacks, so that a test can check that there were some.
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { WebSocket } from 'ws'
import { makeTransaction } from '../rollup/invokeTransactions.js'
import { blockAt, examples, quantity } from '../rpc/demoChain.js'
import { HostileCalls } from './hostileCalls.js'
import { endlessAttacks, forgingAttacks, takingAttacks, writingAttacks } from './scriptAttacks.js'

export interface SealingAttack {
  readonly origin: string
  readonly key: string
  readonly kind: AttackKind
  readonly seed: number
  /** Requests at the same time. */
  readonly lanes: number
}

export const attackKinds = [
  'calls',
  'scripts',
  'overrides',
  'submissions',
  'subscriptions',
  'bodies',
] as const
export type AttackKind = (typeof attackKinds)[number]

/** Codes: JUMPDEST PUSH0 JUMP; 4 MB of zeros; memory that grows; REVERT; INVALID; SELFDESTRUCT; SSTORE repeatedly. */
const codes = [
  '0x5b5f56',
  '0x623d09005ff3',
  '0x5b620f42405a5256',
  '0x5f5ffd',
  '0xfe',
  '0x33ff',
  '0x5f5b8060010180905550600256',
]

type Call = readonly [method: string, params: unknown]

class Attacker {
  readonly #attack: SealingAttack
  readonly #agent: Agent
  readonly #calls: HostileCalls
  #serial = 0

  constructor(attack: SealingAttack) {
    this.#attack = attack
    this.#agent = new Agent({ keepAlive: true, maxSockets: attack.lanes })
    this.#calls = new HostileCalls(attack.seed)
  }

  /** One attack of its kind. */
  async once(): Promise<void> {
    await this[this.#attack.kind]()
  }

  async calls(): Promise<void> {
    await this.#post(this.#calls.pick(['demo', 'dev']), this.#calls.body())
  }

  async scripts(): Promise<void> {
    const attack = this.#calls.pick([
      ...writingAttacks,
      ...forgingAttacks,
      ...takingAttacks,
      ...endlessAttacks,
    ])
    const options = { tracer: attack.tracer, timeout: attack.timeout ?? '2s' }
    const { hash } = blockAt(45).transactions[0] ?? { hash: '0x' }
    const to = this.#calls.pick(examples.contracts).address
    await this.#call(
      'demo',
      this.#calls.pick<Call>([
        ['debug_traceTransaction', [hash, options]],
        ['debug_traceCall', [{ to, data: '0x18160ddd' }, 'latest', options]],
        ['debug_traceBlockByNumber', [quantity(45), options]],
      ]),
    )
  }

  /** Other code, balances and slots in place of those that others read. */
  async overrides(): Promise<void> {
    const { pick, dice } = { pick: <T>(list: readonly T[]) => this.#calls.pick(list), dice: this.#calls.dice }
    const word = () =>
      `0x${dice
        .throw(2 ** 31)
        .toString(16)
        .padStart(64, '0')}`
    const target = pick([...examples.contracts, ...examples.accounts]).address
    const changed = {
      ...pick([{ code: pick(codes) }, { balance: quantity(dice.throw(2 ** 31)) }, { nonce: '0x7' }]),
      ...pick([{}, { state: { [word()]: word() } }, { stateDiff: { [quantity(0).padEnd(3, '0')]: word() } }]),
    }
    const state = { [target]: changed }
    const call = { to: target, data: pick(['0x18160ddd', `0x70a08231${'0'.repeat(64)}`]) }
    await this.#call(
      'demo',
      pick<Call>([
        ['eth_call', [call, 'latest', state]],
        ['eth_estimateGas', [call, 'latest', state]],
        ['eth_createAccessList', [call, 'latest', state]],
        ['eth_simulateV1', [{ blockStateCalls: [{ stateOverrides: state, calls: [call] }] }, 'latest']],
        ['debug_traceCall', [call, 'latest', { tracer: 'callTracer', stateOverrides: state, timeout: '1s' }]],
        ['eth_callMany', [[{ transactions: [call] }], { blockNumber: 'latest' }, state]],
      ]),
    )
  }

  async submissions(): Promise<void> {
    const { pick, dice } = { pick: <T>(list: readonly T[]) => this.#calls.pick(list), dice: this.#calls.dice }
    const from = pick(examples.accounts).address
    const to = pick(examples.accounts).address
    if (dice.throw(2) === 0) {
      const transaction = makeTransaction(dice.throw(20), dice.throw(20))
      await this.#call('roll', ['rollupx_addInvokeTransaction', { invoke_transaction: transaction }])
    } else {
      await this.#call(
        pick(['dev', 'demo']),
        pick<Call>([
          ['eth_sendTransaction', [{ from, to, value: quantity(dice.throw(1000)) }]],
          [
            'eth_sendRawTransaction',
            [
              `0x${dice
                .throw(2 ** 31)
                .toString(16)
                .padStart(400, '0')}`,
            ],
          ],
          ['evm_mine', []],
          ['eth_sign', [from, '0x1234']],
        ]),
      )
    }
  }

  async subscriptions(): Promise<void> {
    const { dice } = this.#calls
    const { origin, key } = this.#attack
    const network = this.#calls.pick(['demo', 'dev'])
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/${network}/ws/v3/${key}`)
    const closed = new Promise((resolve) => socket.on('close', resolve))
    socket.on('error', () => {})
    socket.on('open', async () => {
      if (dice.throw(2) === 0) socket.pause()
      for (let sent = 0; sent < 100 && socket.readyState === WebSocket.OPEN; sent++) {
        const criteria = this.#calls.pick([
          ['newHeads'],
          ['logs', {}],
          ['logs', { replayFrom: '0x0' }],
          ['newPendingTransactions', true],
          ['syncing'],
          ['transactionReceipts'],
        ])
        socket.send(this.#bodyOf('eth_subscribe', criteria))
        if (dice.throw(10) === 0) socket.send(this.#calls.body().slice(0, 100_000))
      }
      await sleep(dice.throw(1_000))
      socket.terminate()
    })
    await Promise.race([closed, sleep(3_000)])
    socket.terminate()
  }

  /** Bodies of all sizes, with calls and other content; some never end. */
  async bodies(): Promise<void> {
    const { dice } = this.#calls
    const size = Math.floor(2 ** (dice.throw(23_000) / 1_000))
    const call = this.#bodyOf('eth_getBalance', [examples.accounts[0]?.address, 'latest'])
    const text = this.#calls.pick([
      'x'.repeat(size),
      '['.repeat(size),
      `"${'a'.repeat(size)}"`,
      `[${Array(Math.ceil(size / call.length))
        .fill(call)
        .join()}]`,
      this.#bodyOf('eth_call', [
        { to: examples.contracts[0]?.address, data: `0x${'00'.repeat(size / 2)}` },
        'latest',
      ]),
    ])
    await this.#post('demo', text, dice.throw(4) === 0)
  }

  #bodyOf(method: string, params: unknown): string {
    return JSON.stringify({ jsonrpc: '2.0', id: ++this.#serial, method, params })
  }

  async #call(network: string, [method, params]: Call): Promise<void> {
    await this.#post(network, this.#bodyOf(method, params))
  }

  /** Resolves once the answer is over, or the request has failed. */
  #post(network: string, body: string, isCut = false): Promise<void> {
    const { origin, key } = this.#attack
    return new Promise((resolve) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const sent = request(
        `${origin}/${network}/v3/${key}`,
        { method: 'POST', agent: this.#agent, headers },
        (response) => response.resume().on('close', resolve),
      )
      sent.on('error', () => resolve())
      if (!isCut) sent.end(body)
      else {
        sent.write(body.slice(0, body.length / 2))
        setTimeout(() => sent.destroy(), 200)
      }
    })
  }
}

const port = parentPort
if (port !== null) {
  const attack = workerData as SealingAttack
  const attacker = new Attacker(attack)
  const lane = async () => {
    for (;;) {
      await attacker.once()
      port.postMessage('attacked')
      // A pause for calls that a server refuses at once.
      await sleep(1)
    }
  }
  for (let started = 0; started < attack.lanes; started++) void lane()
}
