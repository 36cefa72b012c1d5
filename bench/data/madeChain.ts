/** A developer chain whose blocks are made one by one, each by a transaction with the requested number of logs. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hexlify, Wallet } from 'ethers'
import { mergedConfig, testGenesis, testKeys } from '../../test/ingest/chainMaker.js'
import { word } from './demoFacts.js'

const to = `0x${'10'.repeat(20)}`
/** Makes as many logs as its input says, without data, with two topics each: the numbers 0 and 1. */
const code = '0x6000355b80156019576001600060006000a2600190036003565b00'
const fees = {
  type: 2,
  chainId: 7357,
  maxFeePerGas: 10n ** 12n,
  // The least that go-ethereum takes by default.
  maxPriorityFeePerGas: 10n ** 6n,
  gasLimit: 15_000_000,
}

/** Writes the genesis into `folder`, and returns its path. go-ethereum takes it for a developer chain, too. */
export function writeMadeGenesis(folder: string): string {
  const genesis = join(folder, 'made.json')
  const made = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const alloc = { ...made.alloc, [to]: { balance: '0x0', code } }
  writeFileSync(genesis, JSON.stringify({ ...made, alloc }))
  return genesis
}

/** Entry of the configuration for that chain: each transaction makes a block. */
export function madeNetwork(folder: string): object {
  return { name: 'made', genesis: writeMadeGenesis(folder), source: { type: 'develop', blockSeconds: 0 } }
}

/** One of the genesis' accounts. Nonces of several senders with one account collide. */
export const walletOf = (account: number) => new Wallet(hexlify(testKeys[account] as Uint8Array))

/** The raw transaction of a block with this number of logs; 15 million gas pay for some 3,800. */
export function signLogs(wallet: Wallet, nonce: number, logs: number): Promise<string> {
  return wallet.signTransaction({ ...fees, to, nonce, data: word(logs) })
}
