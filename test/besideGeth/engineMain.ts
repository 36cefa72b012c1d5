/** The engine part of `npm run beside-geth`: both programs under one consensus client, by a seed. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGethEngine } from '../../bench/servers/geth.js'
import { endWithThisProcess } from '../../bench/servers/serverProcess.js'
import { writeInto } from '../library/folder.js'
import { waitFor } from '../library/until.js'
import { writeConfig } from '../service/program.js'
import { startService } from '../service/service.js'
import { engineClientOf } from './engineClient.js'
import { inventEngineChain, walk } from './engineWalks.js'

/** Starts both programs on the genesis of the seed, and walks. */
export async function besideGethEngine(
  program: string,
  options: { readonly seed: number; readonly steps: number; readonly shown: number },
  say: (line: string) => void,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-beside-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const secret = randomBytes(32)
  const jwt = writeInto(folder, 'jwt.hex', secret.toString('hex'))
  const genesis = writeInto(folder, 'genesis.json', inventEngineChain(options.seed).genesis)
  const geth = await startGethEngine(program, genesis, folder, jwt)
  try {
    const config = ['--config', writeConfig(folder, {}), '--data', join(folder, 'data')]
    const place = [...config, '--network', 'beside', '--genesis', genesis]
    const service = await startService([...place, '--engine-port', '0', '--jwt-secret', jwt, '--no-auth'])
    endWithThisProcess(service.process)
    try {
      const said = () => /may call (http:\S+?)"/.exec(service.said.err)?.[1]
      const url = await waitFor('the listener of the consensus client', said)
      const pair = {
        geth: engineClientOf('geth', geth.said, secret),
        ours: engineClientOf('Tidegate', url, secret),
      }
      return await walk(pair, options, say)
    } finally {
      await service.stop()
    }
  } finally {
    await geth.stop()
  }
}
