import { type TransactionLike, Wallet } from 'ethers'
import t from 'tap'
import type { ForkName } from '../../../../src/data/chain/forks.js'
import { checkSentTransaction } from '../../../../src/execution/evm/transactions/sentTransaction.js'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpList } from '../../../../src/primitives/rlp.js'

const chainId = 7n
const wallet = new Wallet(`0x${'11'.repeat(32)}`)
const to = `0x${'22'.repeat(20)}`
const typed: TransactionLike = {
  type: 2,
  chainId,
  to,
  gasLimit: 21_000,
  maxFeePerGas: 2,
  maxPriorityFeePerGas: 1,
}
const authorization = await wallet.authorize({ address: to, nonce: 0, chainId })

async function sign(fields: TransactionLike): Promise<Uint8Array> {
  return hexToBytes((await wallet.signTransaction({ nonce: 0, ...fields })).slice(2))
}

/** Signed, with the parts after the fields: EIP-4844. */
async function signBlobs(parts: readonly RlpItem[], fields: TransactionLike = {}): Promise<Uint8Array> {
  const blobVersionedHashes = [`0x01${'33'.repeat(31)}`]
  const bare = await sign({ ...typed, type: 3, maxFeePerBlobGas: 1, blobVersionedHashes, ...fields })
  return Buffer.concat([bare.subarray(0, 1), encodeRlp([decodeRlpList(bare.subarray(1)), ...parts])])
}

/** The reason of the refusal. */
function refusal(raw: Uint8Array, fork: ForkName = 'osaka'): string {
  try {
    return bytesToHex(checkSentTransaction(raw, fork, chainId).hash)
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.kind !== 'MessageRefused') throw error
    return error.fault.why
  }
}

t.test('a transaction of every type has its hash', async (t) => {
  const plans: TransactionLike[] = [
    { type: 0, chainId, to, gasLimit: 21_000, gasPrice: 1 },
    { type: 0, chainId: 0, to, gasLimit: 21_000, gasPrice: 1 },
    { type: 0, chainId, gasLimit: 60_000, gasPrice: 1, data: '0x6001' },
    { type: 1, chainId, to, gasLimit: 30_000, gasPrice: 1, accessList: [[to, [`0x${'44'.repeat(32)}`]]] },
    typed,
    { ...typed, type: 4, gasLimit: 46_000, authorizationList: [authorization] },
  ]
  for (const plan of plans) {
    const raw = await sign(plan)
    t.equal(refusal(raw), bytesToHex(keccak256(raw)), `type ${plan.type}`)
  }
})

t.test('blobs do not count for the hash', async (t) => {
  const blobs = [new Uint8Array(131_072)]
  const proofs = [new Uint8Array(48)]
  const versions: RlpItem[][] = [
    [blobs, proofs, proofs],
    [Uint8Array.of(1), blobs, proofs, Array(128).fill(proofs[0])],
  ]
  for (const parts of versions) {
    const raw = await signBlobs(parts)
    const [fields] = decodeRlpList(raw.subarray(1))
    const inBlock = Buffer.concat([Uint8Array.of(3), encodeRlp(rlpList(fields))])
    t.equal(refusal(raw), bytesToHex(keccak256(inBlock)))
  }
})

t.test("what no block may contain is refused in go-ethereum's words", async (t) => {
  const list = decodeRlpList(await sign({ type: 0, chainId, to, gasLimit: 21_000, gasPrice: 1 }))
  const fields = decodeRlpList((await sign(typed)).subarray(1))
  const withTip = (tip: number) =>
    Buffer.concat([
      Uint8Array.of(2),
      encodeRlp([...fields.slice(0, 2), Uint8Array.of(tip), ...fields.slice(3)]),
    ])
  const withS = (s: Uint8Array) => encodeRlp([...list.slice(0, 8), s])
  const cases: readonly (readonly [raw: Uint8Array, why: string, fork?: ForkName])[] = [
    [new Uint8Array(0), 'typed transaction too short'],
    [Uint8Array.of(2), 'typed transaction too short'],
    [Uint8Array.of(0, 1), 'transaction type not supported'],
    [Uint8Array.of(5, 0xc0), 'transaction type not supported'],
    [await sign({ ...typed, chainId: 8 }), 'invalid sender: invalid chain id for signer: have 8 want 7'],
    [
      await sign({ type: 0, chainId: 8, to, gasLimit: 21_000, gasPrice: 1 }),
      'invalid sender: invalid chain id for signer: have 8 want 7',
    ],
    [withS(new Uint8Array(32).fill(0xff)), 'invalid sender: invalid transaction v, r, s values'],
    [await sign({ ...typed, gasLimit: 20_999 }), 'intrinsic gas too low: gas 20999, minimum needed 21000'],
    [
      await sign({ ...typed, data: `0x${'01'.repeat(100)}`, gasLimit: 22_600 }),
      'insufficient gas for floor data gas cost: gas 22600, minimum needed 25000',
    ],
    [withTip(3), 'max priority fee per gas higher than max fee per gas'],
    [
      await sign({ ...typed, gasLimit: 16_777_217 }),
      'transaction gas limit too high (cap: 16777216, tx: 16777217)',
    ],
    [
      await sign({ ...typed, gasLimit: 2n ** 32n }),
      'transaction gas limit too high (cap: 4294967295, tx: 4294967296)',
      'amsterdam',
    ],
    [
      await sign({ ...typed, to: null, data: `0x${'00'.repeat(49_153)}`, gasLimit: 1_000_000 }),
      'max initcode size exceeded: code size 49153, limit 49152',
    ],
    [new Uint8Array(131_073).fill(2), 'oversized data: transaction size 131073, limit 131072'],
    [await sign(typed), 'transaction type not supported: type 2 rejected, pool not yet in London', 'berlin'],
    [
      await sign({ ...typed, type: 4, gasLimit: 46_000, authorizationList: [authorization] }),
      'transaction type not supported: type 4 rejected, pool not yet in Prague',
      'cancun',
    ],
    [
      await sign({ ...typed, type: 4, gasLimit: 46_000, authorizationList: [] }),
      'set code tx must have at least one authorization tuple',
    ],
    [
      await sign({ ...typed, type: 3, maxFeePerBlobGas: 1, blobVersionedHashes: [`0x01${'33'.repeat(31)}`] }),
      'missing sidecar in blob transaction',
    ],
    [await signBlobs([[], [], []], { blobVersionedHashes: [] }), 'blobless blob transaction'],
  ]
  for (const [raw, why, fork] of cases) t.equal(refusal(raw, fork), why)
  t.match(refusal(Uint8Array.of(2, 0xc0)), /^expected 12 fields, got 0$/)
  t.match(refusal(await signBlobs([[], []])), /^not a transaction: /)
  t.match(refusal(Buffer.concat([await sign(typed), Uint8Array.of(0)])), /^not a transaction: /)
})

t.test('whatever bytes are cut or changed, it is refused or has the hash of what came', async (t) => {
  const raw = await sign({ ...typed, type: 4, gasLimit: 46_000, authorizationList: [authorization] })
  for (let at = 0; at < raw.length; at++) {
    t.match(refusal(raw.subarray(0, at)), /^(typed|not a|expected)/)
    const changed = Uint8Array.from(raw)
    changed[at] = (changed[at] as number) ^ 1
    const outcome = refusal(changed)
    if (outcome.startsWith('0x')) t.equal(outcome, bytesToHex(keccak256(changed)))
  }
})
