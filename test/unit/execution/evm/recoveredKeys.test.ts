import { join } from 'node:path'
import { createBlockFromRLP } from '@ethereumjs/block'
import { createCommonFromGethGenesis } from '@ethereumjs/common'
import { RLP } from '@ethereumjs/rlp'
import t from 'tap'
import type { ForkName } from '../../../../src/data/chain/forks.js'
import { recoverKey } from '../../../../src/execution/evm/transactions/libsecp256k1.js'
import {
  RecoveredKeys,
  recoverKeys,
  type Signature,
  signatureOf,
  transactionHash,
} from '../../../../src/execution/evm/transactions/recoveredKeys.js'
import { readSignedTransaction } from '../../../../src/execution/evm/transactions/signedTransaction.js'
import { bytesToHex, concatBytes, type Hash32, padLeft } from '../../../../src/primitives/bytes.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { decodeRlpList, rlpList } from '../../../../src/primitives/rlp.js'
import { readChainFile } from '../../../../src/sources/ingest/blocks/chainFile.js'
import { ChainMaker, frontierConfig, mergedConfig, testGenesis } from '../../../ingest/chainMaker.js'

const never = () => false
const senderBytes = 52
const keyBytes = 161
/** Bytes of the records of this number of senders and keys. */
const bytesOf = (senders: number, keys: number) => 4 + senders * senderBytes + keys * keyBytes

/** Keys that count the requests for missing entries. */
function countingKeys() {
  const count = { misses: 0 }
  const keys = new RecoveredKeys((...signature) => {
    count.misses++
    return recoverKey(...signature)
  })
  return { keys, count }
}

type GethGenesis = Parameters<typeof createCommonFromGethGenesis>[0]

/** Senders of a block's transactions by the library, which recovers them itself. */
function sendersOf(rlp: Uint8Array, genesis: GethGenesis): string[] {
  const common = createCommonFromGethGenesis(genesis, { chain: 'test' })
  const options = { common, setHardfork: true, skipConsensusFormatValidation: true }
  const { transactions } = createBlockFromRLP(rlp, options)
  return transactions.map((transaction) => transaction.getSenderAddress().toString())
}

/** Senders as the executor finds them. */
function sendersWith(rlp: Uint8Array, keys: RecoveredKeys, fork: ForkName): string[] {
  const [, transactions] = decodeRlpList(rlp)
  return rlpList(transactions).map((item) =>
    bytesToHex(readSignedTransaction(item, fork, 7357n, keys).sender),
  )
}

t.test('keys recovered ahead are all that the engine asks for, and the senders its own', async (t) => {
  const plan = {
    transactions: [
      { to: `0x${'a1'.repeat(20)}` },
      { to: `0x${'a2'.repeat(20)}`, type: 1 as const, from: 1 },
      { to: `0x${'a3'.repeat(20)}`, type: 2 as const, from: 2 },
    ],
  }
  for (const config of [frontierConfig(), mergedConfig()]) {
    const isMerged = config.pragueTime !== undefined
    const genesis = testGenesis(config, isMerged ? { difficulty: '0x0' } : {})
    const fork = isMerged ? 'prague' : 'chainstart'
    const maker = await ChainMaker.create(genesis)
    const transactions = isMerged ? plan.transactions : plan.transactions.slice(0, 1)
    const { rlp } = await maker.extend(maker.genesis, { transactions })
    const { keys, count } = countingKeys()
    const records = recoverKeys(rlp, never)
    t.equal(records.length, bytesOf(transactions.length, 0))
    keys.hold(records)
    t.strictSame(sendersWith(rlp, keys, fork), sendersOf(rlp, genesis))
    t.equal(count.misses, 0)
    keys.hold(new Uint8Array(0))
    t.strictSame(sendersWith(rlp, keys, fork), sendersOf(rlp, genesis))
    t.equal(count.misses, transactions.length, 'keys of the block before are gone')
  }
})

/** Number of authorizations of a typed transaction. */
function authorizationsOf(transaction: Uint8Array): number {
  const fields = RLP.decode(transaction.subarray(1)) as unknown[][]
  return transaction[0] === 4 ? (fields[9]?.length ?? 0) : 0
}

t.test(
  'every transaction of the demo chain, of all five types, has its key, and every authorization',
  async (t) => {
    const types = new Set<number>()
    let transactions = 0
    for await (const { rlp } of readChainFile(join(packageRoot(), 'data/devnet/chain.rlp'))) {
      const [, body] = RLP.decode(rlp) as [unknown, (Uint8Array | unknown[])[]]
      for (const transaction of body)
        types.add(transaction instanceof Uint8Array ? (transaction[0] ?? -1) : 0)
      transactions += body.length
      let authorizations = 0
      for (const transaction of body)
        if (transaction instanceof Uint8Array) authorizations += authorizationsOf(transaction)
      const expected = body.length === 0 ? 0 : bytesOf(body.length, authorizations)
      t.equal(recoverKeys(rlp, never).length, expected)
    }
    t.strictSame([...types].sort(), [0, 1, 2, 3, 4])
    t.ok(transactions > 900, `${transactions} transactions`)
  },
)

t.test('it stops where it is told to, with what it has', async (t) => {
  const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0' }))
  const transactions = Array.from({ length: 5 }, () => ({ to: `0x${'a1'.repeat(20)}` }))
  const { rlp } = await maker.extend(maker.genesis, { transactions })
  const whole = recoverKeys(rlp, never)
  let asked = 0
  const part = recoverKeys(rlp, () => ++asked > 2)
  t.equal(part.length, bytesOf(2, 0))
  t.strictSame(part.slice(4), whole.slice(4, part.length))
})

t.test('what is no block or no signature yields no keys and no error', async (t) => {
  const word = new Uint8Array(32).fill(7)
  const untyped = (...signature: (Uint8Array | number)[]) => [
    1,
    1,
    21_000,
    word.slice(12),
    0,
    '0x',
    ...signature,
  ]
  const bodies = {
    nothing: [],
    'bytes that are no transaction': [Uint8Array.of(2, 0xff)],
    'an empty list': [[]],
    'a parity of 2': [untyped(29, word, word)],
    'a long r': [untyped(27, new Uint8Array(33).fill(7), word)],
    'r of zero': [untyped(27, 0, word)],
    'a list for s': [[...untyped(27, word), [word]]],
  }
  for (const [name, body] of Object.entries(bodies)) {
    t.equal(recoverKeys(RLP.encode([[], body as never, []]), never).length, 0, name)
  }
  for (const rlp of [new Uint8Array(0), Uint8Array.of(0xc1), RLP.encode([[]])]) {
    t.equal(recoverKeys(rlp, never).length, 0, bytesToHex(rlp))
  }
})

t.test('a held key answers for its own signature alone', async (t) => {
  const maker = await ChainMaker.create(testGenesis(frontierConfig()))
  const { rlp } = await maker.extend(maker.genesis, { transactions: [{ to: `0x${'a1'.repeat(20)}` }] })
  const [transaction = []] = rlpList(decodeRlpList(rlp)[1])
  const { signedHash: hash, parity, r, s } = signatureOf(transaction) as Signature
  const key = recoverKey(hash, parity, r, s) as Uint8Array
  const { keys, count } = countingKeys()
  keys.hold(
    concatBytes(new Uint8Array(4), hash, Uint8Array.of(Number(parity)), padLeft(r, 32), padLeft(s, 32), key),
  )
  t.strictSame(keys.keyOf({ signedHash: hash, parity, r, s }), key)
  t.equal(count.misses, 0)
  const other = (bytes: Uint8Array) => bytes.map((byte, at) => (at === 31 ? byte ^ 1 : byte))
  for (const [name, signature] of Object.entries({
    hash: { signedHash: other(hash), parity, r, s },
    parity: { signedHash: hash, parity: 1n - parity, r, s },
    s: { signedHash: hash, parity, r, s: other(s) },
  })) {
    const expected = recoverKey(signature.signedHash, signature.parity, signature.r, signature.s)
    t.strictSame(keys.keyOf(signature), expected, name)
  }
  t.equal(count.misses, 3)
  t.equal(keys.keyOf({ signedHash: hash, parity: 2n, r, s }), undefined, 'no parity at all has no key')
})

t.test('a held sender answers for its own transaction alone', async (t) => {
  const maker = await ChainMaker.create(testGenesis(frontierConfig()))
  const plan = [{ to: `0x${'a1'.repeat(20)}` }, { to: `0x${'a2'.repeat(20)}`, from: 1 }]
  const { rlp } = await maker.extend(maker.genesis, { transactions: plan })
  const [first = [], second = []] = rlpList(decodeRlpList(rlp)[1])
  const { keys, count } = countingKeys()
  const whole = recoverKeys(rlp, never)
  keys.hold(concatBytes(Uint8Array.of(0, 0, 0, 1), whole.slice(4, 4 + senderBytes)))
  t.strictSame(keys.senderOf(first, transactionHash(first)), whole.slice(36, 56))
  t.equal(count.misses, 0)
  t.strictSame(keys.senderOf(second, transactionHash(second)), whole.slice(88, 108))
  t.equal(count.misses, 1)
  t.equal(keys.senderOf([], new Uint8Array(32) as Hash32), undefined, 'no signature at all has no sender')
})
