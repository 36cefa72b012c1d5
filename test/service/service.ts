import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { inTime, once, waitFor } from '../library/until.js'
import { checkParams, checkResult } from '../rpc/openRpc.js'
import { fixtureConfig, patientConfig } from './fixtures.js'
import { get, post } from './httpClient.js'

const program = join(packageRoot(), 'dist/src/main.js')

/** The program as an operator runs it, on a free port of the loopback address unless flags name one. */
export interface Service {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string
  /** Standard output of the process so far, by lines. */
  readonly lines: readonly string[]
  /** Standard error of the process so far. */
  readonly said: { readonly err: string }
  readonly process: ChildProcess
  /** Sends a body to a path and returns status, text and the block named in the answer's header. */
  post(
    path: string,
    body: string,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string; block: string | null }>
  /** Calls a method at `/` and returns the whole answer. */
  call(method: string, params?: unknown): Promise<RpcAnswer>
  /** Stops the program and waits for its exit status. */
  stop(): Promise<number | null>
}

export interface RpcAnswer {
  readonly jsonrpc: string
  readonly id: unknown
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

let shared: { service?: Promise<Service> } | undefined

/** From now on, all servers of the unchanged fixtures are one shared server. Returns a function that stops it. */
export function shareService(): () => Promise<void> {
  shared = {}
  return async () => {
    await (await shared?.service)?.stop()
  }
}

/**
 * Starts `tidegate serve` and resolves once it listens and, unless `isEarly`, each network has a block. Without flags,
 * it serves the fixtures; without a configuration, calls may take long. Rejects with its output if it does not start.
 */
export async function startService(
  flags?: readonly string[],
  env: Readonly<Record<string, string>> = {},
  isEarly = false,
): Promise<Service> {
  if (flags !== undefined) {
    const service = await start(
      flags.includes('--config') ? flags : ['--config', patientConfig, ...flags],
      env,
    )
    // On a busy machine the first block of a node takes longer than the program waits at its start.
    if (!isEarly) await waitFor('the first blocks', () => hasBlocks(service))
    return service
  }
  const fixtures = ['--config', fixtureConfig, '--no-auth']
  if (shared === undefined) return start(fixtures, env)
  shared.service ??= start(fixtures, env)
  return { ...(await shared.service), stop: async () => 0 }
}

async function hasBlocks({ origin, lines }: Service): Promise<boolean> {
  if (!lines.includes('Try it:')) return false
  if (!lines.some((line) => line.includes(': no block yet, '))) return true
  const { text } = await get(`${origin}/health`)
  return Object.values<object>(JSON.parse(text).networks).every(
    (network) => 'head' in network || 'waiting' in network,
  )
}

async function start(flags: readonly string[], env: Readonly<Record<string, string>>): Promise<Service> {
  const port = flags.includes('--port') ? [] : ['--port', '0']
  const child = spawn(process.execPath, [program, 'serve', ...port, ...flags], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const said = { err: '' }
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  const listening = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      const found = /listens on (https?:\/\/\S+)/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.on('exit', (status) => reject(new Error(`serve ended with status ${status}: ${said.err}`)))
  })
  const origin = await inTime('the server to listen', listening)
  const ask: Service['post'] = async (path, body, headers) => {
    const answer = await post(origin + path, body, headers)
    return { ...answer, block: (answer.headers['tidegate-block'] as string | undefined) ?? null }
  }
  return {
    origin,
    lines,
    said,
    process: child,
    post: ask,
    async call(method, params = []) {
      const { text } = await ask('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      const answer = JSON.parse(text) as RpcAnswer
      if (answer.error === undefined) {
        checkParams(method, params)
        checkResult(method, answer.result)
      }
      return answer
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      return child.exitCode
    },
  }
}

/** Resident memory of a process in bytes. Only on Linux. */
export function readRssBytes(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024
}

/** Log lines above warnings; warnings depend on the machine. */
export function reportsOf(log: string): string[] {
  const lines = log.split('\n').filter((line) => line !== '')
  return lines.filter((line) => !line.startsWith('{') || JSON.parse(line).level > 40)
}
