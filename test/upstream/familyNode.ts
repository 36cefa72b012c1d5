/**
 * Simulates a node of a chain of another family from a fixture: 25 blocks, which all have one state of two accounts.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { createMerkleProof, MerklePatriciaTrie } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { bytesToHex, hexToBytes, keccak256, pad, toHex } from 'viem'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { type NodeAnswer, type NodeCall, WeatherNode } from './weatherNode.js'

type Json = Record<string, unknown>

export interface FamilyFixture {
  readonly chainId: number
  /** `none`: there are no proofs. */
  readonly stateKind?: 'eth' | 'avax' | 'none'
  readonly blocks: readonly {
    readonly block: Json & { readonly hash: string; readonly transactions: readonly Json[] }
    readonly receipts: readonly Json[]
    readonly rawTransactions: readonly string[]
  }[]
}

export function familyFixture(name: string): FamilyFixture {
  const path = join(packageRoot(), 'test/families', `${name}.json.gz`)
  return JSON.parse(gunzipSync(readFileSync(path)).toString()) as FamilyFixture
}

/** The account with slots 0 and {@link oddSlot}, and with code that returns the block's number. */
export const coded = '0x00000000000000000000000000000000c0ffee01'
export const plain = '0xeaf70b6a7acc16a997bcc3d4d0e3303e740d1ac8'
const code = '0x4360005260206000f3'
/** Avalanche clears the lowest bit of the first byte before it hashes. */
export const oddSlot = `0x01${'00'.repeat(30)}07` as const
const noCode = keccak256('0x')

/** This node's answer to every call. */
export const reportedCall = `0x${'ee'.repeat(32)}`

const hash = (hex: `0x${string}`) => hexToBytes(keccak256(hex))
const integer = (value: bigint) => (value === 0n ? new Uint8Array(0) : hexToBytes(toHex(value)))

/** State of the fixtures; `avax` writes five items in an account. */
export async function stateOf(kind: 'eth' | 'avax' | 'none') {
  const keyOf = (slot: `0x${string}`) => {
    const bytes = hexToBytes(slot)
    if (kind === 'avax') bytes[0] = (bytes[0] as number) & 0xfe
    return hexToBytes(keccak256(bytes))
  }
  const storage = new MerklePatriciaTrie()
  await storage.put(keyOf(pad('0x0')), RLP.encode(Uint8Array.of(42)))
  await storage.put(keyOf(oddSlot), RLP.encode(Uint8Array.of(7)))
  const accounts = new Map([
    [
      plain,
      { nonce: 5n, balance: 10n ** 18n, storageRoot: new MerklePatriciaTrie().root(), codeHash: noCode },
    ],
    [coded, { nonce: 1n, balance: 3n, storageRoot: storage.root(), codeHash: keccak256(code) }],
  ])
  const trie = new MerklePatriciaTrie()
  for (const [address, { nonce, balance, storageRoot, codeHash }] of accounts) {
    const items = [integer(nonce), integer(balance), storageRoot, hexToBytes(codeHash)]
    await trie.put(
      hash(address as `0x${string}`),
      RLP.encode(kind === 'avax' ? [...items, new Uint8Array(0)] : items),
    )
  }
  const proofOf = async (of: MerklePatriciaTrie, key: Uint8Array) =>
    (await createMerkleProof(of, key)).map((node) => bytesToHex(node))
  return {
    accounts,
    root: bytesToHex(trie.root()),
    async proof(address: `0x${string}`, keys: readonly `0x${string}`[]) {
      const isCoded = address.toLowerCase() === coded
      const storageProof = keys.map(async (key) => {
        return { key, proof: isCoded ? await proofOf(storage, keyOf(pad(key))) : [] }
      })
      return {
        accountProof: await proofOf(trie, hash(address)),
        storageProof: await Promise.all(storageProof),
      }
    },
  }
}

export class FamilyNode {
  readonly node = new WeatherNode((call) => this.answer(call))
  /** Replaces an answer; by default returns it unchanged. */
  change: (call: NodeCall, answer: NodeAnswer) => NodeAnswer = (_call, answer) => answer
  /** Number of the node's head. */
  head = 20
  readonly #state: Promise<Awaited<ReturnType<typeof stateOf>>>

  constructor(
    readonly fixture: FamilyFixture,
    /** Whether the node returns the bytes of transactions. */
    readonly hasRaw = false,
  ) {
    this.#state = stateOf(fixture.stateKind ?? 'eth')
  }

  async answer(call: NodeCall): Promise<NodeAnswer> {
    const result = await this.#result(call)
    const unknown = { error: { code: -32601, message: `the method ${call.method} does not exist` } }
    return this.change(call, result === undefined ? unknown : { result })
  }

  #blockAt(id: unknown) {
    const { blockHash } = (id ?? {}) as { readonly blockHash?: string }
    const known = this.fixture.blocks.slice(0, this.head + 1)
    const text = String(blockHash ?? id)
    if (text.length === 66) return known.find(({ block }) => block.hash === text)
    const tags: Record<string, number> = { latest: this.head, safe: this.head - 4, finalized: this.head - 8 }
    return known[tags[text] ?? Number(text)]
  }

  async #result({ method, params }: NodeCall): Promise<unknown> {
    const [first, second] = params
    const found = this.#blockAt(first)
    const state = await this.#state
    switch (method) {
      case 'eth_chainId':
        return toHex(this.fixture.chainId)
      case 'eth_getBlockByNumber':
      case 'eth_getBlockByHash': {
        if (found === undefined || second === true) return found?.block ?? null
        return { ...found.block, transactions: found.block.transactions.map((each) => each.hash) }
      }
      case 'eth_getBlockReceipts':
        return found?.receipts ?? null
      case 'eth_getRawTransactionByHash': {
        const raws = this.fixture.blocks.flatMap(({ block, rawTransactions }) =>
          block.transactions.map((each, at) => [each.hash, rawTransactions[at]] as const),
        )
        return this.hasRaw ? raws.find(([each]) => each === first)?.[1] : undefined
      }
      case 'eth_sendRawTransaction': {
        const sent = this.fixture.blocks.find(({ rawTransactions }) =>
          rawTransactions.includes(first as string),
        )
        return sent?.block.transactions[sent.rawTransactions.indexOf(first as string)]?.hash
      }
      case 'eth_getTransactionByHash':
        return (
          this.fixture.blocks
            .flatMap(({ block }) => block.transactions)
            .find((each) => each.hash === first) ?? null
        )
      case 'eth_getProof':
        if (this.fixture.stateKind === 'none') return undefined
        return state.proof(first as `0x${string}`, second as `0x${string}`[])
      case 'eth_getBalance':
        return toHex(state.accounts.get(first as string)?.balance ?? 0n)
      case 'eth_getTransactionCount':
        return toHex(state.accounts.get(first as string)?.nonce ?? 0n)
      case 'eth_getStorageAt':
        return pad(second === oddSlot ? '0x07' : '0x2a')
      case 'eth_getCode':
        return first === coded ? code : '0x'
      case 'eth_call':
        return reportedCall
      case 'eth_estimateGas':
        return '0x5209'
      case 'eth_gasPrice':
      case 'bor_getAuthor':
        return '0x77'
      case 'eth_getLogs': {
        const { fromBlock, toBlock } = first as { readonly fromBlock: string; readonly toBlock: string }
        const range = this.fixture.blocks.slice(Number(fromBlock), Number(toBlock) + 1)
        return range.flatMap(({ receipts }) => receipts.flatMap(({ logs }) => logs))
      }
      default:
        return undefined
    }
  }
}
