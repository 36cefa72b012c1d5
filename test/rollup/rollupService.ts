/** The program serving a rollup network, for tests. */
import type { Test } from 'tap'
import { makeFolder } from '../library/folder.js'
import { writeConfig } from '../service/program.js'
import { type RpcAnswer, type Service, startService } from '../service/service.js'

export interface RollupService extends Service {
  readonly dataDir: string
  /** `origin` with the network's name as its path. */
  readonly url: string
  /** Submits and returns the whole answer. */
  submit(transaction: unknown): Promise<RpcAnswer>
  /** Submits a transaction that must be accepted, and returns its hash. */
  take(transaction: unknown): Promise<string>
  status(hash: string): Promise<RollupStatus>
}

export interface RollupStatus {
  readonly finality_status: string
  readonly failure_reason?: string
  readonly queue_status: string
}

type Entry = Record<string, unknown>

/**
 * Starts only a rollup network, of chain SN_SEPOLIA, with these members of its entry, in a folder of its own or the
 * given one.
 */
export async function startRollup(
  t: Test,
  entry: Entry = {},
  folder = makeFolder(t),
): Promise<RollupService> {
  const { roll } = await startRollups(t, { roll: entry }, folder)
  return roll
}

/** Starts rollup networks of these names in one program, each like {@link startRollup} does: they share nothing. */
export async function startRollups<Name extends string>(
  t: Test,
  entries: Readonly<Record<Name, Entry>>,
  folder = makeFolder(t),
): Promise<Record<Name, RollupService>> {
  const names = Object.keys(entries) as Name[]
  const networks = names.map((name) => ({ name, kind: 'rollup', chainId: 'SN_SEPOLIA', ...entries[name] }))
  const config = writeConfig(folder, {
    dataDir: 'data',
    logLevel: 'error',
    defaultNetwork: names[0],
    networks,
  })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  const bound = names.map((name) => [name, bindTo(service, `/${name}`, folder)] as const)
  return Object.fromEntries(bound) as Record<Name, RollupService>
}

/** The service below a path. */
function bindTo(service: Service, path: string, dataDir: string): RollupService {
  const post: Service['post'] = (below, body, headers) => service.post(path + below, body, headers)
  const call: Service['call'] = async (method, params = []) => {
    const { text } = await post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    return JSON.parse(text) as RpcAnswer
  }
  const submit = (transaction: unknown) =>
    call('rollupx_addInvokeTransaction', { invoke_transaction: transaction })
  return {
    ...service,
    post,
    call,
    url: service.origin + path,
    dataDir,
    submit,
    async take(transaction) {
      const answer = await submit(transaction)
      if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
      return answer.result.transaction_hash
    },
    async status(hash) {
      const answer = await call('rollupx_getTransactionStatus', [hash])
      if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
      return answer.result
    },
  }
}
