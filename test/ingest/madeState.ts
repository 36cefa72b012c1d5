/** A state of any size after block 1 of a chain of its own, and the files for creating a store from it. */
import { decodeHeader, encodeHeader } from '../../src/data/chain/header.js'
import type { Hash32 } from '../../src/primitives/bytes.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { writeInto } from '../library/folder.js'

export interface MadeState {
  readonly genesis: string
  readonly header: string
  readonly state: string
  /** The lines of the dump. */
  readonly lines: readonly string[]
}

const config = {
  chainId: 7,
  homesteadBlock: 0,
  eip150Block: 0,
  eip155Block: 0,
  eip158Block: 0,
  byzantiumBlock: 0,
  istanbulBlock: 0,
  constantinopleBlock: 0,
  petersburgBlock: 0,
  berlinBlock: 0,
  londonBlock: 0,
  terminalTotalDifficulty: 0,
  shanghaiTime: 0,
}

function word(number: number, bytes: number): string {
  return `0x${number.toString(16).padStart(2 * bytes, '0')}`
}

/** Writes the files for a number of accounts into `folder`; every fourth has code and `slots` slots. */
export function makeState(folder: string, accounts: number, slots: number): MadeState {
  const alloc = Object.fromEntries(
    Array.from({ length: accounts }, (_, at) => {
      const isContract = at % 4 === 0
      const storage = Object.fromEntries(
        Array.from({ length: isContract ? slots : 0 }, (_, slot) => [
          word(slot * 3, 32),
          word(slot + at + 1, 32),
        ]),
      )
      const code = isContract ? { code: `0x60${(at % 251).toString(16).padStart(2, '0')}`, storage } : {}
      return [word(0x10000 + at * 7, 20), { balance: word(at + 1, 8), nonce: at, ...code }]
    }),
  )
  // The genesis of a chain with this initial state: an independent computation of the same root.
  const { stateRoot } = decodeHeader(parseGenesis(genesisText(alloc)).blockDiff.header)
  const lines = [
    JSON.stringify({ root: `0x${Buffer.from(stateRoot).toString('hex')}` }),
    ...Object.entries(alloc).map(([address, account]) => JSON.stringify({ address, ...account })),
  ]
  return {
    ...writeFirstBlock(folder, stateRoot),
    state: writeInto(folder, 'state.jsonl', `${lines.join('\n')}\n`),
    lines,
  }
}

/** Writes the genesis of a chain, with no account, and block 1 of it, with this state root. */
export function writeFirstBlock(folder: string, stateRoot: Hash32): Pick<MadeState, 'genesis' | 'header'> {
  const { blockDiff } = parseGenesis(genesisText({}))
  const genesis = decodeHeader(blockDiff.header)
  const first = { ...genesis, number: 1, timestamp: 12, parentHash: blockDiff.hash, stateRoot }
  return {
    genesis: writeInto(folder, 'genesis.json', genesisText({})),
    header: writeInto(folder, 'header.rlp', Buffer.concat([encodeHeader(first), blockDiff.header])),
  }
}

function genesisText(alloc: object): string {
  return JSON.stringify({ config, alloc, difficulty: '0x0', gasLimit: '0x1c9c380' })
}
