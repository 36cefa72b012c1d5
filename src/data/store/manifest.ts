/**
 * The description of a copied data folder, in `manifest.json` at its top: its files with checksums, and the head of
 * each chain. It is written last, so a copy without it is incomplete.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import * as z from 'zod'
import { bytesToHex } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { isThere, syncPath } from '../../primitives/files.js'
import { readBlockName } from './chainReader.js'
import type { ChainIdentity } from './chainRows.js'
import { closeEnvironment, openEnvironment, openTable } from './lmdb/environment.js'
import { metaKeys } from './tables.js'

/** Raised when a manifest has content that earlier programs would not understand. */
const manifestFormat = 1

const hash = z.string().regex(/^0x[0-9a-f]{64}$/)

const chainSchema = z.strictObject({
  /** Layout of the store; see {@link schemaVersion}. */
  schema: z.int(),
  chainId: z.string(),
  genesisHash: z.string(),
  head: z.strictObject({ number: z.int().min(0), hash }),
})

const manifestSchema = z.strictObject({
  format: z.literal(manifestFormat),
  /** Version of the program that made it. */
  madeBy: z.string(),
  madeAt: z.iso.datetime(),
  /** Chains by name of the network; a network whose store has no block yet is absent. */
  chains: z.record(z.string(), chainSchema),
  files: z.array(
    z.strictObject({
      /** Relative to the folder, with slashes. A name that begins with a dot could point outside, and is refused. */
      path: z.string().regex(/^(node|networks\/[^./\\][^/\\]*)\/[^./\\][^/\\]*$/),
      bytes: z.int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
})

export type Manifest = z.infer<typeof manifestSchema>
export type StoredChain = z.infer<typeof chainSchema>
export type ManifestFile = Manifest['files'][number]

const manifestName = 'manifest.json'

/** On disk when this returns, if its folder is. */
export function writeManifest(folder: string, manifest: Omit<Manifest, 'format'>): void {
  const path = join(folder, manifestName)
  writeFileSync(path, `${JSON.stringify({ format: manifestFormat, ...manifest }, undefined, 2)}\n`, {
    flag: 'wx',
  })
  syncPath(path)
}

/** Throws OperatorError if there is none, or none that this program understands. */
export function readManifest(folder: string): Manifest {
  const path = join(folder, manifestName)
  if (!isThere(path)) {
    throw new OperatorError(
      `there is no ${manifestName} in ${folder}, so it is no backup, or one that did not end`,
    )
  }
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    throw new OperatorError(
      `${path} is damaged, or was made by a newer version; use another backup, or that version`,
    )
  }
}

/** The manifest entry for a chain's store of any version; undefined if the store has no block yet. */
export function readStoredChain(path: string, mapBytes: number): StoredChain | undefined {
  const { identity, head } = readStored(path, mapBytes)
  if (identity === undefined || head === undefined) return undefined
  const { schema, chainId, genesisHash } = identity
  return { schema, chainId, genesisHash, head: { number: head.number, hash: bytesToHex(head.hash) } }
}

/** The identity of the chain in a store of any version; undefined if it has none yet. */
export function readStoredIdentity(path: string, mapBytes: number): ChainIdentity | undefined {
  return readStored(path, mapBytes).identity
}

function readStored(path: string, mapBytes: number) {
  const environment = openEnvironment({ path, mapBytes, readOnly: true })
  try {
    const meta = openTable(environment, 'meta')
    const row = meta?.getBinary(metaKeys.identity)
    const identity = row && (unpack(row) as ChainIdentity & { readonly schema: number })
    return { identity, head: readBlockName(meta?.getBinary(metaKeys.head)) }
  } finally {
    void closeEnvironment(environment)
  }
}
