/** The program serving a rollup network, as tests use it. */
import type { Test } from 'tap'
import { makeFolder, writeInto } from './program.js'
import { type RpcAnswer, type Service, startService } from './service.js'

export interface RollupService extends Service {
  readonly dataDir: string
  /** Submits and returns the whole answer. */
  submit(transaction: unknown): Promise<RpcAnswer>
  /** The hash of a transaction that has to be taken. */
  take(transaction: unknown): Promise<string>
  status(hash: string): Promise<RollupStatus>
}

export interface RollupStatus {
  readonly finality_status: string
  readonly failure_reason?: string
  readonly queue_status: string
}

/** Starts a rollup network alone, of chain SN_SEPOLIA, with these members of its entry, in a folder of its own or the given one. */
export async function startRollup(
  t: Test,
  entry: Record<string, unknown> = {},
  folder = makeFolder(t),
): Promise<RollupService> {
  const config = writeInto(folder, 'tidegate.json', {
    dataDir: 'data',
    logLevel: 'error',
    networks: [{ name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA', ...entry }],
  })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  const submit = (transaction: unknown) =>
    service.call('rollupx_addInvokeTransaction', { invoke_transaction: transaction })
  return {
    ...service,
    dataDir: folder,
    submit,
    async take(transaction) {
      const answer = await submit(transaction)
      if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
      return answer.result.transaction_hash
    },
    async status(hash) {
      const answer = await service.call('rollupx_getTransactionStatus', [hash])
      if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
      return answer.result
    },
  }
}
