/** Chains and blocks of the Amsterdam fork made by go-ethereum, with all data derived from them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { fixtureDir } from '../service/fixtures.js'
import { type Service, startService } from '../service/service.js'

export const amsterdamDir = join(packageRoot(), '../shared/amsterdam')
/** Reason to skip tests that need them; false if they are available. */
export const withoutAmsterdam = !existsSync(amsterdamDir) && `there is no Amsterdam data at ${amsterdamDir}`

/** The first crosses from BPO2 to Amsterdam at block 40, the second has Amsterdam from genesis on. */
export const amsterdamChains = ['a1-cross', 'a2-genesis'] as const
export type AmsterdamChain = (typeof amsterdamChains)[number]

/** go-ethereum's data of a block; the members from `slotNumber` on exist only for Amsterdam blocks. */
export interface AmsterdamBlock {
  readonly number: string
  readonly hash: string
  readonly stateRoot: string
  readonly receiptsRoot: string
  readonly gasUsed: string
  readonly gasLimit: string
  readonly timestamp: string
  readonly requestsHash: string
  readonly requests: readonly string[]
  readonly receipts: readonly Readonly<Record<string, unknown>>[]
  readonly amsterdam: boolean
  readonly slotNumber?: string
  readonly blockAccessListHash?: string
  readonly blockAccessListRlp?: string
  readonly blockAccessList?: readonly GethAccountAccess[]
}

/** An account of a block access list in go-ethereum's JSON. */
export interface GethAccountAccess {
  readonly address: string
  readonly storageChanges: readonly {
    readonly slot: string
    readonly slotChanges: readonly { readonly blockAccessIndex: string; readonly postValue: string }[]
  }[]
  readonly storageReads: readonly string[]
  readonly balanceChanges: readonly { readonly blockAccessIndex: string; readonly postBalance: string }[]
  readonly nonceChanges: readonly { readonly blockAccessIndex: string; readonly postNonce: string }[]
  readonly codeChanges: readonly { readonly blockAccessIndex: string; readonly newCode: string }[]
}

/** Converts go-ethereum's JSON to that of execution-apis. */
export function toExecutionApis(account: GethAccountAccess): unknown {
  const word = (quantity: string) => `0x${quantity.slice(2).padStart(64, '0')}`
  return {
    address: account.address,
    storageChanges: account.storageChanges.map(({ slot, slotChanges }) => ({
      key: word(slot),
      changes: slotChanges.map(({ blockAccessIndex, postValue }) => ({
        index: blockAccessIndex,
        value: word(postValue),
      })),
    })),
    storageReads: account.storageReads.map(word),
    balanceChanges: account.balanceChanges.map(({ blockAccessIndex, postBalance }) => ({
      index: blockAccessIndex,
      value: postBalance,
    })),
    nonceChanges: account.nonceChanges.map(({ blockAccessIndex, postNonce }) => ({
      index: blockAccessIndex,
      value: postNonce,
    })),
    codeChanges: account.codeChanges.map(({ blockAccessIndex, newCode }) => ({
      index: blockAccessIndex,
      code: newCode,
    })),
  }
}

/** Path of a file of a chain. */
export function amsterdamFile(chain: AmsterdamChain, name: string): string {
  return join(amsterdamDir, 'chains', chain, name)
}

/** The blocks of a chain by number; block 0 has only `number`, `hash`, `stateRoot` and `header`. */
export function readAmsterdamBlocks(chain: AmsterdamChain): AmsterdamBlock[] {
  const text = gunzipSync(readFileSync(amsterdamFile(chain, 'blocks.jsonl.gz'))).toString()
  return (
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      // An empty list is null in Go's JSON.
      .map((block) => ({ ...block, receipts: block.receipts ?? [], requests: block.requests ?? [] }))
  )
}

/** A block that go-ethereum refused, on top of the head of its base. */
export interface InvalidBlock {
  readonly name: string
  readonly reason: string
  readonly base: string
  readonly blockRlp: string
  readonly blockAccessListRlp?: string
}

/** The blocks that must be refused, by the chain (`base`) whose head is their parent. */
export function readInvalidBlocks(): Map<string, InvalidBlock[]> {
  const folder = join(amsterdamDir, 'invalid')
  const byBase = new Map<string, InvalidBlock[]>()
  for (const file of readdirSync(folder).sort()) {
    if (!/\.json(\.gz)?$/.test(file) || file === 'index.json') continue
    const bytes = readFileSync(join(folder, file))
    const block: InvalidBlock = JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString())
    byBase.set(block.base, [...(byBase.get(block.base) ?? []), block])
  }
  return byBase
}

/** The chain a1-cross as network `cross`, imported before the tests by `prepare.ts`, and served. */
export function serveCross(): Promise<Service> {
  return startService(['--network', 'cross', '--data', fixtureDir, '--no-auth'])
}
