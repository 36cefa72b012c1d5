/**
 * go-ethereum: which program is used, and starting it on a chain. The module and its version are pinned; it is built once
 * by the machine's Go and kept, or `GETH` names a program.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runScript } from '../../test/clients/runScript.js'
import { waitFor } from '../../test/library/until.js'
import { freePorts } from '../../test/service/ports.js'
import { keptFolder, keptPath } from '../data/keptFolders.js'
import { askResult } from '../load/rpc.js'
import { endWithThisProcess, type ServerProcess, serverOf } from './serverProcess.js'

const module = 'github.com/ethereum/go-ethereum'
const version = 'v1.17.10'
/** Name of the folder in the cache. */
const key = `geth-${version}`

/** Why go-ethereum cannot be measured on this machine; undefined if it can. Throws RangeError for a wrong `GETH`. */
export function whyNoGeth(): string | undefined {
  const { GETH: named } = process.env
  if (named !== undefined) {
    if (existsSync(named)) return undefined
    throw new RangeError(`GETH: there is no file ${named}`)
  }
  if (existsSync(keptPath(key))) return undefined
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'this machine has no go to build it, and GETH names no program'
  }
}

/**
 * The program, built if it is not cached yet, which takes minutes of all cores. Rejects if {@link whyNoGeth} has a
 * reason.
 */
export async function gethProgram(): Promise<string> {
  if (process.env.GETH !== undefined) return process.env.GETH
  const folder = await keptFolder(key, `building go-ethereum ${version}`, async (draft) => {
    const env = { ...process.env, GOBIN: draft }
    const words = ['install', `${module}/cmd/geth@${version}`]
    const child = endWithThisProcess(spawn('go', words, { env, stdio: ['ignore', 'ignore', 'inherit'] }))
    const [code, signal] = await once(child, 'exit')
    if (code !== 0) throw new Error(`go ${words.join(' ')} ended with ${code ?? signal}`)
  })
  return join(folder, 'geth')
}

/** As the program names it, for example `1.17.10-stable`. */
export function gethVersion(program: string): string {
  const text = execFileSync(program, ['version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  return /^Version: (\S+)/m.exec(text)?.[1] ?? 'unknown'
}

/** Files of a chain: geth's genesis, and blocks as RLP one after the other. */
export interface ChainFiles {
  readonly genesis: string
  readonly blocks: string
}

/**
 * Imports the chain into `folder` and starts geth as an archive, since traces and old balances need old states. The
 * server's word is its URL. Rejects with geth's last lines if it does not start.
 */
export async function startGeth(
  program: string,
  { genesis, blocks }: ChainFiles,
  folder: string,
  onCores = (command: readonly string[]) => command,
): Promise<ServerProcess> {
  const data = ['--datadir', join(folder, 'geth')]
  // Names of accounts are needed by its dumps, and all states by questions about old blocks.
  const archive = ['--gcmode', 'archive', '--state.scheme', 'hash', '--cache.preimages']
  await runGeth([program, 'init', ...data, '--state.scheme', 'hash', '--cache.preimages', genesis])
  await runGeth([program, 'import', ...data, ...archive, blocks])
  const [port, authPort] = (await freePorts(2)).map(String) as [string, string]
  const ports = ['--http.port', port, '--authrpc.port', authPort]
  return await serve(program, onCores([program, ...data, ...archive, ...ports, ...alone]), port)
}

/**
 * Starts geth on a new chain of which it makes a block for each transaction. The server's word is its URL and that of its
 * WebSockets, with a space between.
 */
export async function startGethDeveloper(
  program: string,
  genesis: string,
  folder: string,
  onCores: (command: readonly string[]) => readonly string[],
): Promise<ServerProcess> {
  const data = ['--datadir', join(folder, 'geth')]
  await runGeth([program, 'init', ...data, genesis])
  const [port, socketPort] = (await freePorts(2)).map(String) as [string, string]
  const sockets = ['--ws', '--ws.port', socketPort, '--ws.api', 'eth']
  const words = [program, '--dev', '--rpc.txfeecap', '0', ...data, '--http.port', port, ...sockets, ...alone]
  const server = await serve(program, onCores(words), port)
  return { ...server, said: `${server.said} ws://127.0.0.1:${socketPort}` }
}

/**
 * Starts geth on a new chain under a consensus client, with all its states: a block may be given on any other one. `jwt`
 * is the file of the secret. The server's word is the URL of its Engine API.
 */
export async function startGethEngine(
  program: string,
  genesis: string,
  folder: string,
  jwt: string,
): Promise<ServerProcess> {
  const data = ['--datadir', join(folder, 'geth')]
  await runGeth([program, 'init', ...data, '--state.scheme', 'hash', genesis])
  const [port, authPort] = (await freePorts(2)).map(String) as [string, string]
  const whole = ['--syncmode', 'full', '--gcmode', 'archive', '--state.scheme', 'hash']
  const engine = ['--authrpc.port', authPort, '--authrpc.jwtsecret', jwt]
  const words = [program, ...data, ...whole, ...engine, '--http.port', port, ...alone]
  const server = await serve(program, words, port)
  return { ...server, said: `http://127.0.0.1:${authPort}` }
}

const alone = [
  '--nodiscover',
  '--maxpeers',
  '0',
  '--port',
  '0',
  '--nat',
  'none',
  '--ipcdisable',
  '--http',
  '--http.api',
  'eth,debug,net,web3,txpool',
]

/** Runs the command line of `program` until it answers. */
async function serve(program: string, command: readonly string[], port: string): Promise<ServerProcess> {
  const [first = '', ...rest] = command
  const child = endWithThisProcess(spawn(first, rest, { stdio: 'ignore' }))
  const url = `http://127.0.0.1:${port}`
  await waitFor('geth to listen', async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`)
    return askResult(url, 'web3_clientVersion', []).catch(() => undefined)
  })
  return serverOf(child, child.pid as number, url)
}

/** geth logs much before the reason of its end. */
async function runGeth(words: readonly string[]): Promise<void> {
  await runScript(words).catch((error: Error) => {
    throw new Error(error.message.trimEnd().split('\n').slice(-3).join('\n'))
  })
}
