import { FaultError } from '../primitives/faults.js'
import type { RollupNetwork } from './rollupNetwork.js'

/**
 * Relays a read to the sequencer, with the sequencer's prefix. Rejects with FaultError; see
 * {@link RollupNetwork.reader}.
 */
export async function readSequencer(
  { reader }: RollupNetwork,
  method: string,
  params: object,
): Promise<string> {
  if (reader === undefined) throw new FaultError({ kind: 'NoSequencerToRead' })
  return reader.read(method, params)
}
