/** Blocks of a developer chain, of `testGenesis`, each with one transaction that makes thousands of logs. */
import { getCreateAddress, Wallet } from 'ethers'
import { testKeys } from '../ingest/chainMaker.js'
import { hex } from '../rpc/demoChain.js'

/** Code that makes as many logs as its input says, without data, with two topics each. */
const manyLogs = '0x601c600c600039601c6000f36000355b8015601a57600260016100006000a2600190036003565b00'
const logsOfBlock = 3_800

export class LogBlocks {
  readonly #wallet = new Wallet(hex(testKeys[0] ?? new Uint8Array(0)))
  readonly #post: (body: string) => Promise<string>
  #nonce = 0

  /** `post` sends a call to the chain and resolves to its answer. */
  constructor(post: (body: string) => Promise<string>) {
    this.#post = post
  }

  /** Makes the next block; the first has the contract alone. Resolves to the answer. */
  async make(): Promise<string> {
    const to = this.#nonce > 0 ? { to: getCreateAddress({ from: this.#wallet.address, nonce: 0 }) } : {}
    const data = this.#nonce > 0 ? `0x${logsOfBlock.toString(16).padStart(64, '0')}` : manyLogs
    const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 1, gasLimit: 15_000_000 }
    const raw = await this.#wallet.signTransaction({
      type: 2,
      chainId: 7357,
      nonce: this.#nonce,
      data,
      ...to,
      ...fees,
    })
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] }
    const answer = await this.#post(JSON.stringify(body))
    if (answer.includes('"result"')) this.#nonce++
    return answer
  }
}
