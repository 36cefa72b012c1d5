/**
 * Checks the blobs, commitments and proofs that come with a transaction (EIP-4844, from Osaka on EIP-7594), as
 * go-ethereum's pool does. Loaded with the first blobs: its library takes a tenth of a second.
 */
import { hash } from 'node:crypto'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import { bytesToHex, equalBytes } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import { decodeRlpList, type RlpItem } from '../../../primitives/rlp.js'
import { transactionTypes } from '../../../primitives/transactionTypes.js'
import { cellPowerOfG2, firstPowerOfG2, powersOfG1 } from './ceremony.js'

const blobType = 3
const blobElements = 4_096
const blobBytes = 32 * blobElements
const pointBytes = 48
/** EIP-7594: cells of an extended blob, each with a proof. */
const cellsPerBlob = 128

let known: KZG | undefined

/** Has only the points of the ceremony that checks use; a generator replaces all others. */
function kzg(): KZG {
  if (known !== undefined) return known
  const { G1, G2 } = bls12_381
  const digits = (value: bigint) => value.toString(16).padStart(2 * pointBytes, '0')
  const first = ({ x, y }: { x: bigint; y: bigint }) => `${digits(x)} ${digits(y)}`
  type Pair = { readonly c0: bigint; readonly c1: bigint }
  const second = ({ x, y }: { x: Pair; y: Pair }) =>
    [x, y].map(({ c0, c1 }) => `${digits(c0)},${digits(c1)}`).join(' ')
  const generator2 = second(G2.Point.BASE.toAffine())
  const powers2 = Array<string>(cellsPerBlob / 2 + 1).fill(generator2)
  powers2[1] = second(G2.Point.fromHex(firstPowerOfG2).toAffine())
  powers2[cellsPerBlob / 2] = second(G2.Point.fromHex(cellPowerOfG2).toAffine())
  const generator1 = first(G1.Point.BASE.toAffine())
  known = new KZG({
    encoding: 'fast_v1',
    g1_lagrange: Array<string>(blobElements).fill(generator1),
    g1_monomial: [generator1, ...powersOfG1.map((point) => first(G1.Point.fromHex(point).toAffine()))],
    g2_monomial: powers2,
  })
  return known
}

/** Throws FaultError MessageRefused if the blobs of a transaction (EIP-2718 bytes, blobs included) are invalid. */
export function checkSidecar(raw: Uint8Array): void {
  const [fields, ...parts] = decodeRlpList(raw.subarray(1)) as [RlpItem[], ...RlpItem[]]
  const place = transactionTypes.get(blobType)?.placeOf('blobVersionedHashes') as number
  const hashes = fields[place] as readonly Uint8Array[]
  const isByCells = parts[0] instanceof Uint8Array
  const version = isByCells ? ((parts.shift() as Uint8Array)[0] ?? 0) : 0
  const [blobs = [], commitments = [], proofs = []] = parts as Uint8Array[][]
  if (isByCells !== (version === 1)) throw messageRefused(`unsupported blob sidecar version ${version}`)
  const count = (what: string, got: number, wanted: number) => {
    if (got !== wanted) throw messageRefused(`invalid number of ${got} ${what}, expected ${wanted}`)
  }
  count('blobs', blobs.length, hashes.length)
  count('blob commitments', commitments.length, hashes.length)
  count('blob proofs', proofs.length, hashes.length * (isByCells ? cellsPerBlob : 1))
  for (const blob of blobs) count('bytes of a blob', blob.length, blobBytes)
  for (const point of [...commitments, ...proofs]) count('bytes of a point', point.length, pointBytes)
  for (const [index, commitment] of commitments.entries()) {
    const computed = hash('sha256', commitment, 'buffer')
    computed[0] = 1
    const wanted = hashes[index] as Uint8Array
    if (equalBytes(computed, wanted)) continue
    const [got, named] = [computed, wanted].map(bytesToHex)
    throw messageRefused(`blob ${index}: computed hash ${got} mismatches transaction one ${named}`)
  }
  if (!isProved(isByCells, blobs, commitments, proofs)) throw messageRefused('invalid blob proof')
}

function isProved(
  isByCells: boolean,
  blobs: readonly Uint8Array[],
  commitments: readonly Uint8Array[],
  proofs: readonly Uint8Array[],
): boolean {
  const [allBlobs, allCommitments, allProofs] = [blobs, commitments, proofs].map((list) =>
    list.map(bytesToHex),
  ) as [string[], string[], string[]]
  try {
    if (!isByCells) {
      return allBlobs.every((blob, at) =>
        kzg().verifyBlobProof(blob, allCommitments[at] as string, allProofs[at] as string),
      )
    }
    const indices = allProofs.map((_, at) => at % cellsPerBlob)
    const ofCells = allProofs.map((_, at) => allCommitments[Math.floor(at / cellsPerBlob)] as string)
    const cells = allBlobs.flatMap((blob) => kzg().computeCells(blob))
    return kzg().verifyCellKzgProofBatch(ofCells, indices, cells, allProofs)
  } catch {
    // A number outside the field, or a point that is not on the curve.
    return false
  }
}
