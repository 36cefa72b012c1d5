/**
 * Chains of families whose code is not available, made by the rules in their documentation. A chain has 25 blocks, each
 * with the family's types of transactions, and the state of {@link stateOf}. It uses no code from src.
 */
import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { bytesToHex, concatHex, type Hex, hexToBytes, keccak256, pad, parseSignature, toHex } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { coded, type FamilyFixture, stateOf } from './familyNode.js'

const secret = pad('0x7e57', { size: 32 })
const sender = privateKeyToAccount(secret).address.toLowerCase() as Hex
const zeros = (size: number) => pad('0x', { size })
const emptyRoot = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
const noUncles = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const noRequests = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const blocks = 25
/** A time after all known forks. */
const firstTime = 1_792_000_000
const gasEach = 60_000

/** A field in RLP and, by its name, in JSON: an integer, bytes, a flag, nothing, an empty list. */
type Value = bigint | Hex | boolean | undefined | readonly []
type Fields = readonly (readonly [name: string, value: Value])[]

interface Made {
  readonly type: number
  readonly fields: Fields
  readonly isSigned?: boolean
  /** Members of the transaction in its JSON alone. */
  readonly more?: object
  /** Fields of the transaction's receipt, after the logs. */
  readonly tail?: Readonly<Record<string, bigint>>
  readonly moreReceipt?: object
  /** Members of each log of the transaction. */
  readonly moreLog?: object
}

interface Rules {
  readonly chainId: number
  readonly stateKind?: FamilyFixture['stateKind']
  readonly seconds: number
  readonly transactions: (number: number, chainId: bigint) => readonly Made[]
  /** Fields of the header after the nonce. */
  readonly header: (number: number, withdrawals: Hex) => Fields
  readonly extraData?: Hex
  readonly more?: (number: number) => object
  /** Whether blocks have withdrawals. */
  readonly withdraws?: boolean
  /** Whether roots belong to other blocks. */
  readonly settles?: boolean
  /** Replaces the hash of the header; then its roots are zero. */
  readonly hash?: (number: number, time: number, parent: Hex, hashes: readonly Hex[]) => Hex
}

const market = (number: number, chainId: bigint): Fields => [
  ['chainId', chainId],
  ['nonce', BigInt(number)],
  ['maxPriorityFeePerGas', 0n],
  ['maxFeePerGas', 10n ** 11n],
  ['gas', 200_000n],
  ['to', coded],
  ['value', 5n],
  ['input', '0x07'],
  ['accessList', []],
]
const usual = (number: number, chainId: bigint): Made => ({
  type: 2,
  fields: market(number, chainId),
  isSigned: true,
})
const legacy = (number: number): Made => ({
  type: 0,
  fields: [
    ...([['nonce', BigInt(number)] as const, ['gasPrice', 10n ** 11n] as const] as const),
    ...([['gas', 200_000n] as const, ['to', undefined] as const] as const),
    ...([['value', 0n] as const, ['input', '0x00'] as const] as const),
  ],
  isSigned: true,
})

const l1Fee = { l1Fee: '0x1234', l1GasPrice: '0x77', l1GasUsed: '0x640', l1BaseFeeScalar: '0x1' }
const deposit = (number: number, own: Fields = [], last: Fields = []): Made => ({
  type: 0x7e,
  fields: [
    ...([['sourceHash', keccak256(toHex(number))] as const, ['from', sender] as const] as const),
    ...([['to', coded] as const, ['mint', number % 2 === 0 ? 0n : 7n] as const] as const),
    ...([['value', 1n] as const, ['gas', 100_000n] as const, ['isSystemTx', false] as const] as const),
    ...own,
    ['input', '0x0102'],
    ...last,
  ],
  more: { nonce: toHex(number), depositReceiptVersion: '0x1', r: '0x0', s: '0x0', v: '0x0', gasPrice: '0x0' },
  tail: { depositNonce: BigInt(number), depositReceiptVersion: 1n },
})
const paid = (made: Made): Made => ({ ...made, moreReceipt: l1Fee })
const isthmus: Rules['header'] = (number) => [
  ...([
    ['baseFeePerGas', 10n ** 9n] as const,
    ['withdrawalsRoot', keccak256(toHex(number))] as const,
  ] as const),
  ...([['blobGasUsed', 0n] as const, ['excessBlobGas', 0n] as const] as const),
  ...([
    ['parentBeaconBlockRoot', keccak256('0x01')] as const,
    ['requestsHash', noRequests] as const,
  ] as const),
]
const prague: Rules['header'] = (_number, withdrawals) => [
  ...([['baseFeePerGas', 10n ** 9n] as const, ['withdrawalsRoot', withdrawals] as const] as const),
  ...([['blobGasUsed', 0n] as const, ['excessBlobGas', 0n] as const] as const),
  ...([
    ['parentBeaconBlockRoot', keccak256('0x01')] as const,
    ['requestsHash', noRequests] as const,
  ] as const),
]

/** Additional members of ZKsync's receipts and logs. */
const ofBatch = {
  moreReceipt: { l2ToL1Logs: [], root: zeros(32), l1BatchNumber: null, l1BatchTxIndex: null },
  moreLog: { l1BatchNumber: null, transactionLogIndex: '0x0', logType: null },
}

const optimism = {
  seconds: 2,
  header: isthmus,
  extraData: '0x01000000fa000000060000000000000000',
  transactions: (number, chainId) => [deposit(number), paid(usual(number, chainId))],
} as const satisfies Omit<Rules, 'chainId'>

const rules = {
  optimism: { chainId: 10, ...optimism },
  worldchain: { chainId: 480, ...optimism },
  fraxtal: { chainId: 252, ...optimism },
  celo: {
    chainId: 42_220,
    seconds: 1,
    header: isthmus,
    extraData: '0x000000003200000006',
    transactions: (number, chainId) => [
      deposit(number),
      paid(usual(number, chainId)),
      {
        type: 0x7b,
        fields: [...market(number, chainId), ['feeCurrency', coded]],
        isSigned: true,
        tail: { baseFee: 12_345n },
      },
      {
        type: 0x7a,
        fields: [...market(number, chainId), ['feeCurrency', coded], ['maxFeeInFeeCurrency', 99n]],
        isSigned: true,
      },
    ],
  },
  base: {
    chainId: 8_453,
    seconds: 2,
    header: isthmus,
    extraData: '0x000000003200000006',
    transactions: (number, chainId) => [
      deposit(number),
      paid(usual(number, chainId)),
      // Transaction of an unknown type.
      ...(number === 13 ? [{ type: 0x70, fields: market(number, chainId), isSigned: true }] : []),
    ],
  },
  mantle: {
    chainId: 5_000,
    seconds: 2,
    header: isthmus,
    extraData: '0x000000003200000006',
    transactions: (number, chainId) => [
      deposit(number, [['ethValue', 3n]], number % 2 === 0 ? [] : [['ethTxValue', 9n]]),
      { ...usual(number, chainId), moreReceipt: { ...l1Fee, tokenRatio: '0xfa0' } },
    ],
  },
  linea: {
    chainId: 59_144,
    seconds: 2,
    header: prague,
    extraData: pad('0x01', { size: 32 }),
    transactions: (number, chainId) => [usual(number, chainId), legacy(number)],
  },
  gnosis: {
    chainId: 100,
    seconds: 5,
    header: prague,
    withdraws: true,
    transactions: (number, chainId) => [usual(number, chainId)],
  },
  helicon: {
    chainId: 43_114,
    seconds: 1,
    stateKind: 'avax',
    settles: true,
    transactions: (number, chainId) => [usual(number, chainId)],
    header: (number) => [
      ...([['extDataHash', emptyRoot] as const, ['baseFeePerGas', 10n ** 9n] as const] as const),
      ...([['extDataGasUsed', 0n] as const, ['blockGasCost', 0n] as const] as const),
      ...([['blobGasUsed', 0n] as const, ['excessBlobGas', 0n] as const] as const),
      ['parentBeaconBlockRoot', zeros(32)],
      ['timestampMilliseconds', BigInt(firstTime + number) * 1_000n],
      ...([['minDelayExcess', 7_970_124n] as const, ['targetExponent', 1_234n] as const] as const),
      ...([
        ['minPriceExponent', 5n] as const,
        ['settledHeight', BigInt(Math.max(0, number - 5))] as const,
      ] as const),
      ...([['settledGasUnix', 1n] as const, ['settledGasNumerator', 2n] as const] as const),
      ['settledExcess', 3n],
    ],
    more: () => ({ blockExtraData: '0x' }),
  },
  zksync: {
    chainId: 324,
    seconds: 1,
    stateKind: 'none',
    header: () => [['baseFeePerGas', 45_250_000n]],
    transactions: (number, chainId) => [
      {
        type: 0xff,
        fields: market(number, chainId),
        ...ofBatch,
        more: { gasPrice: '0x0', r: '0x0', s: '0x0', v: '0x0', l1BatchNumber: '0x1' },
      },
      {
        type: 0x71,
        fields: market(number, chainId),
        isSigned: true,
        ...ofBatch,
        more: { l1BatchTxIndex: '0x1', l1BatchNumber: null },
      },
      { ...usual(number, chainId), ...ofBatch },
    ],
    more: (number) => ({ l1BatchNumber: toHex(number >> 3), l1BatchTimestamp: null, sealFields: [] }),
    hash: (number, time, parent, hashes) => {
      const rolling = hashes.reduce((before, each) => keccak256(concatHex([before, each])), zeros(32))
      return keccak256(concatHex([toHex(number, { size: 32 }), toHex(time, { size: 32 }), parent, rolling]))
    },
  },
  unknown: {
    chainId: 7_654_321,
    seconds: 3,
    header: () => [['baseFeePerGas', 10n ** 9n]],
    transactions: (number, chainId) => [
      usual(number, chainId),
      ...(number === 13 ? [{ type: 0x55, fields: market(number, chainId), isSigned: true }] : []),
    ],
    more: () => ({ oracleRoot: 'none' }),
  },
} as const satisfies Readonly<Record<string, Rules>>

export type MadeFamily = keyof typeof rules
export const madeFamilies = Object.keys(rules) as MadeFamily[]

const integer = (value: bigint) => (value === 0n ? new Uint8Array(0) : hexToBytes(toHex(value)))

function itemOf(value: Value): Uint8Array | never[] {
  if (typeof value === 'bigint') return integer(value)
  if (typeof value === 'string') return hexToBytes(value)
  if (typeof value === 'boolean') return value ? Uint8Array.of(1) : new Uint8Array(0)
  return value === undefined ? new Uint8Array(0) : []
}

const jsonOf = (fields: Fields) => {
  const plain = (value: Value) => (typeof value === 'bigint' ? toHex(value) : (value ?? null))
  return Object.fromEntries(fields.map(([name, value]) => [name, plain(value)]))
}

async function encode({ type, fields, isSigned, more }: Made, chainId: bigint) {
  const items = fields.map(([, value]) => itemOf(value))
  const bytesOf = (list: readonly (Uint8Array | never[])[]) => {
    const rlp = bytesToHex(RLP.encode([...list]))
    return type === 0 ? rlp : concatHex([toHex(type, { size: 1 }), rlp])
  }
  // EIP-155.
  const replay = type === 0 ? [integer(chainId), integer(0n), integer(0n)] : []
  const signed =
    isSigned &&
    (await sign({ hash: keccak256(bytesOf([...items, ...replay])), privateKey: secret, to: 'hex' }))
  const { r, s, yParity } = signed ? parseSignature(signed) : { r: '0x', s: '0x', yParity: 0 }
  const v = type === 0 ? chainId * 2n + 35n + BigInt(yParity) : BigInt(yParity)
  const raw = bytesOf(signed ? [...items, integer(v), integer(BigInt(r)), integer(BigInt(s))] : items)
  const signature = signed
    ? {
        v: toHex(v),
        r: toHex(BigInt(r)),
        s: toHex(BigInt(s)),
        gasPrice: toHex(10n ** 11n),
        ...(type === 0 ? { chainId: toHex(chainId) } : { yParity: toHex(yParity) }),
      }
    : {}
  const json = { type: toHex(type), from: sender, ...jsonOf(fields), ...signature, ...more }
  return { raw, hash: keccak256(raw), json: json as Record<string, unknown> }
}

async function rootOf(items: readonly Hex[]): Promise<Hex> {
  const trie = await createMPT()
  for (const [index, item] of items.entries())
    await trie.put(RLP.encode(index === 0 ? new Uint8Array(0) : integer(BigInt(index))), hexToBytes(item))
  return bytesToHex(trie.root())
}

/** Yellow paper, section 4.3.1. */
function bloomOf(values: readonly Hex[]): Hex {
  const bloom = new Uint8Array(256)
  for (const value of values) {
    const hash = hexToBytes(keccak256(value))
    for (const at of [0, 2, 4]) {
      const bit = (((hash[at] as number) << 8) | (hash[at + 1] as number)) & 2047
      bloom[255 - (bit >> 3)] = (bloom[255 - (bit >> 3)] as number) | (1 << (bit & 7))
    }
  }
  return bytesToHex(bloom)
}

export async function madeFamily(name: MadeFamily): Promise<FamilyFixture> {
  const chain = await MadeChain.begin(name)
  while (chain.fixture.blocks.length < blocks) await chain.advance()
  return chain.fixture
}

/** A chain that can be extended and reorganised. */
export class MadeChain {
  readonly fixture: FamilyFixture & { readonly blocks: FamilyFixture['blocks'][number][] }
  readonly #rules: Rules
  readonly #stateRoot: Hex
  #branch = 0

  private constructor(rules: Rules, stateRoot: Hex) {
    const { chainId, stateKind } = rules
    this.fixture = { chainId, ...(stateKind && { stateKind }), blocks: [] }
    this.#rules = rules
    this.#stateRoot = stateRoot
  }

  static async begin(name: MadeFamily): Promise<MadeChain> {
    const own: Rules = rules[name]
    return new MadeChain(own, (await stateOf(own.stateKind === 'avax' ? 'avax' : 'eth')).root)
  }

  async advance(): Promise<void> {
    const { blocks: before } = this.fixture
    before.push(await blockOf(this.#rules, before, this.#stateRoot, this.#branch))
  }

  /** Replaces the newest `depth` blocks by others, and adds one more. */
  async reorganise(depth: number): Promise<void> {
    this.#branch++
    const made = this.fixture.blocks.slice(0, -depth)
    for (let count = 0; count <= depth; count++)
      made.push(await blockOf(this.#rules, made, this.#stateRoot, this.#branch))
    // In one step, so that nodes have either the old or the new blocks.
    this.fixture.blocks.splice(0, Infinity, ...made)
  }
}

async function blockOf(own: Rules, before: FamilyFixture['blocks'], stateRoot: Hex, branch: number) {
  const number = before.length
  const chainId = BigInt(own.chainId)
  const list = number === 0 ? [] : own.transactions(number, chainId)
  const encoded = await Promise.all(list.map((each) => encode(each, chainId)))
  const topic = keccak256(toHex(number))
  const data = toHex(number, { size: 32 })
  const bloom = bloomOf([coded, topic])
  const raws = list.map(({ type, tail = {} }, index) => {
    const log = [hexToBytes(coded), [hexToBytes(topic)], hexToBytes(data)]
    const total = integer(BigInt(gasEach * (index + 1)))
    const items = [integer(1n), total, hexToBytes(bloom), [log], ...Object.values(tail).map(integer)]
    const rlp = bytesToHex(RLP.encode(items as never))
    return type === 0 ? rlp : concatHex([toHex(type, { size: 1 }), rlp])
  })
  const withdrawal = { index: toHex(number), validatorIndex: '0x9', address: sender, amount: '0x5' }
  const withdrawals = own.withdraws ? [withdrawal] : []
  const withdrawalItems = withdrawals.map(({ index, validatorIndex, address, amount }) => {
    const integers = [index, validatorIndex, amount].map((each) => integer(BigInt(each)))
    return bytesToHex(RLP.encode([integers[0], integers[1], hexToBytes(address), integers[2]] as never))
  })
  const parent = (before.at(-1)?.block.hash ?? zeros(32)) as Hex
  const time = firstTime + number * own.seconds
  const isBare = own.hash !== undefined
  const fields: Fields = [
    ['parentHash', parent],
    ['sha3Uncles', noUncles],
    ['miner', coded],
    ['stateRoot', isBare ? zeros(32) : stateRoot],
    ['transactionsRoot', isBare ? zeros(32) : await rootOf(encoded.map(({ raw }) => raw))],
    // A settling header has the receipts root of earlier blocks.
    ['receiptsRoot', isBare ? zeros(32) : own.settles ? emptyRoot : await rootOf(raws)],
    ['logsBloom', list.length === 0 || own.settles || isBare ? zeros(256) : bloom],
    ['difficulty', 0n],
    ['number', BigInt(number)],
    ['gasLimit', 60_000_000n],
    ['gasUsed', BigInt(gasEach * list.length)],
    ['timestamp', BigInt(time)],
    ['extraData', own.extraData ?? '0x'],
    ['mixHash', keccak256(toHex(number + 2 ** 32 * branch))],
    ['nonce', zeros(8)],
    ...own.header(number, await rootOf(withdrawalItems)),
  ]
  const hashes = encoded.map(({ hash }) => hash)
  const header = bytesToHex(RLP.encode(fields.map(([, value]) => itemOf(value)) as never))
  const hash = own.hash?.(number, time, parent, [...hashes, keccak256(toHex(branch))]) ?? keccak256(header)
  const placeOf = (index: number) => ({
    blockHash: hash,
    blockNumber: toHex(number),
    transactionIndex: toHex(index),
  })
  const hasList = fields.some(([member]) => member === 'withdrawalsRoot')
  return {
    block: {
      ...jsonOf(fields),
      hash,
      size: '0x400',
      uncles: [],
      totalDifficulty: '0x0',
      ...(hasList && { withdrawals }),
      ...own.more?.(number),
      transactions: encoded.map(({ json }, index) => ({ ...json, hash: hashes[index], ...placeOf(index) })),
    },
    receipts: list.map(({ type, fields: sent, tail = {}, moreReceipt, moreLog }, index) => {
      const place = { ...placeOf(index), transactionHash: hashes[index] }
      const { to } = jsonOf(sent)
      const nonce = sent.find(([member]) => member === 'nonce')?.[1] as bigint
      const created = keccak256(bytesToHex(RLP.encode([hexToBytes(sender), integer(nonce ?? 0n)])))
      return {
        type: toHex(type),
        status: '0x1',
        from: sender,
        to,
        effectiveGasPrice: '0x77',
        logsBloom: bloom,
        cumulativeGasUsed: toHex(gasEach * (index + 1)),
        gasUsed: toHex(gasEach),
        contractAddress: to === null ? `0x${created.slice(26)}` : null,
        logs: [
          {
            address: coded,
            topics: [topic],
            data,
            logIndex: toHex(index),
            removed: false,
            ...place,
            ...moreLog,
          },
        ],
        ...place,
        ...Object.fromEntries(Object.entries(tail).map(([member, value]) => [member, toHex(value)])),
        ...moreReceipt,
      }
    }),
    rawTransactions: encoded.map(({ raw }) => raw),
  }
}
