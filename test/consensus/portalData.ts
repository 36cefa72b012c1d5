/** The real light client data of mainnet in `../shared/light-client`, and how the Portal Network encodes them. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { packageRoot } from '../../src/primitives/packageRoot.js'

const folder = join(packageRoot(), '../shared/light-client')

/** False, or why tests of these data are skipped. */
export const skipPortal = !existsSync(folder) && `there is no ${folder}`

/** The value of a file, or those of a file of updates, without their fork digests. */
export function readPortal(fork: 'capella' | 'deneb', name: string): Uint8Array[] {
  const path = join(folder, fork, `${name}.yaml`)
  const text = existsSync(path) ? readFileSync(path) : gunzipSync(readFileSync(`${path}.gz`))
  const hex = /content_value:\s*"0x([^"]*)"/.exec(text.toString())?.[1] ?? ''
  const value = Uint8Array.from(Buffer.from(hex.replace(/[\\\s]/g, ''), 'hex'))
  const parts = name === 'updates' ? splitList(value) : [value]
  return parts.map((part) => part.slice(4))
}

/** The elements of an SSZ list of byte lists. */
function splitList(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer)
  const count = view.getUint32(0, true) / 4
  const starts = Array.from({ length: count }, (_, at) => view.getUint32(4 * at, true))
  return starts.map((start, at) => bytes.slice(start, starts[at + 1]))
}
