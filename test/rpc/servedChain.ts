import { runProgram, waitFor, writeInto } from '../program.js'
import { startService } from '../service.js'
import { genesisPath } from './demoChain.js'

/**
 * A network of these blocks on the demo network's genesis, in a data folder of its own, served; `add` imports more
 * in a process of its own.
 */
export async function serveChain(folder: string, chain: Uint8Array) {
  const flags = ['--network', 'tides', '--data', `${folder}/data`]
  let files = 0
  const add = async (more: Uint8Array) => {
    const file = writeInto(folder, `chain${files++}.rlp`, more)
    const { status, err } = await runProgram(['import', ...flags, '--genesis', genesisPath, file])
    if (status !== 0) throw new Error(err)
  }
  await add(chain)
  const service = await startService([...flags, '--no-auth'])
  const headIs = (hash: string) =>
    waitFor(`the head ${hash}`, async () => {
      const { result } = await service.call('eth_getBlockByNumber', ['latest', false])
      return result.hash === hash
    })
  return { service, add, headIs, flags }
}
