/**
 * Submission of invoke transactions to a rollup network without a sequencer: each is on disk before its answer. Every
 * request is a different transaction.
 */
import { measureHttp } from '../load/httpRun.js'
import { rpc } from '../load/rpc.js'
import type { Scenario } from '../load/scenarios.js'
import type { Outcome } from '../report/outcome.js'
import { withPostgres } from '../servers/replicaPlay.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { RunContext, SpecialScenario } from './specialScenario.js'

const submission: Scenario = {
  name: 'submissions',
  title: 'submissions, each on disk before its answer',
  network: 'demo',
  variety: 'many',
  question: (n) => rpc('rollupx_addInvokeTransaction', [transaction(n)]),
  anvil: 'none',
}

/** The queue must not fill within a run. `idempotent`, because the run repeats its first requests. */
const rollup = {
  name: 'rollup',
  kind: 'rollup',
  chainId: 'TIDEGATE_BENCH',
  idempotent: true,
  queue: { transactionsMax: 10_000_000, bytesMax: 2 ** 40 },
}

export const submissions: SpecialScenario = {
  name: submission.name,
  title: submission.title,
  run: (context) => runSubmissions(context, submission, rollup),
}

const shared: Scenario = {
  ...submission,
  name: 'shared-submissions',
  title: 'submissions, each committed by PostgreSQL before its answer',
}

/** The same with a queue in a PostgreSQL of its own, beside the server. */
export const sharedSubmissions: SpecialScenario = {
  name: shared.name,
  title: shared.title,
  run: (context) =>
    withPostgres(({ url }) =>
      runSubmissions(context, shared, { ...rollup, queue: { ...rollup.queue, shared: { url } } }),
    ),
}

async function runSubmissions(
  { folder, settings, server: options, network }: RunContext,
  scenario: Scenario,
  entry: object,
): Promise<Omit<Outcome, 'name' | 'title'>> {
  const server = await startTidegate(folder, [await network('demo')], { ...options, moreNetworks: [entry] })
  try {
    const url = new URL('/rollup', server.said).href
    return await measureHttp(scenario, { name: 'tidegate', url, process: server }, {}, settings, folder)
  } finally {
    await server.stop()
  }
}

/**
 * Each with its own sender, so that none replaces another. Three felts of calldata and two of signature, as from
 * wallets.
 */
function transaction(n: number): object {
  const felt = (value: number) => `0x${value.toString(16)}`
  return {
    type: 'INVOKE',
    version: '0x3',
    sender_address: felt(2 ** 40 + n),
    nonce: '0x0',
    calldata: [felt(1), felt(n + 1), felt(3)],
    signature: [felt(2 ** 52 - 1), felt(2 ** 51 + n)],
    resource_bounds: {
      l1_gas: { max_amount: '0x186a0', max_price_per_unit: '0x5af3107a4000' },
      l2_gas: { max_amount: '0x0', max_price_per_unit: '0x0' },
    },
    tip: '0x0',
    paymaster_data: [],
    account_deployment_data: [],
    nonce_data_availability_mode: 'L1',
    fee_data_availability_mode: 'L1',
  }
}
