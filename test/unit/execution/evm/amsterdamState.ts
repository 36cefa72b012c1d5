/** A chain of the Amsterdam fork that is its genesis alone, and messages on it under the rules of transactions. */
import type { Test } from 'tap'
import { systemContracts } from '../../../../src/data/chain/protocolContracts.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import type {
  AccountOverride,
  CallMessage,
  ExecutionRequest,
} from '../../../../src/execution/evm/messages/executionRequest.js'
import { Simulation } from '../../../../src/execution/evm/simulate/simulation.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { amsterdamConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { goOn, limits } from './demoExecution.js'

export function openAmsterdam(t: Pick<Test, 'testdir' | 'teardown'>): ChainWriter {
  const store = ChainWriter.openForWriting({ path: `${t.testdir()}/chain.mdb`, mapBytes: 2 ** 26 })
  t.teardown(() => store.close())
  const { identity, blockDiff } = parseGenesis(
    JSON.stringify(testGenesis(amsterdamConfig(), { difficulty: '0x0' })),
  )
  store.initialize(identity, blockDiff)
  return store
}

/** Contracts of requests that return no requests. */
export const systemStubs: readonly AccountOverride[] = systemContracts
  .filter(({ requests }) => requests !== undefined)
  .map(({ address }) => ({ address, code: Uint8Array.of(0) }))

/** The outcome of a message that is alone in a simulated block of any size. */
export interface Simulated {
  readonly status: string
  readonly gasUsed: string
  readonly error?: { readonly message: string }
}

/** Runs messages in simulated blocks; `validates`: by the rules of transactions, with the sender's funds. */
export class AmsterdamBlocks {
  readonly #simulation: Simulation
  readonly #store: ChainWriter

  constructor(store: ChainWriter) {
    this.#store = store
    this.#simulation = new Simulation(store, limits)
  }

  run(message: CallMessage, overrides: readonly AccountOverride[], validates: boolean): Simulated {
    const funds = message.from === undefined ? [] : [{ address: message.from, balance: 10n ** 30n }]
    const json = this.#simulation.simulateJson(
      {
        block: { ...this.#store.head, isPending: false },
        blocks: [
          {
            blockOverrides: { gasLimit: 2n ** 40n },
            stateOverrides: [...systemStubs, ...overrides, ...funds],
            calls: [{ message: { ...message, maxFeePerGas: 10n ** 12n }, chainId: undefined }],
          },
        ],
        validates,
        tracesTransfers: false,
        isFull: false,
        gasMax: 2n ** 40n,
      },
      goOn,
    )
    return JSON.parse(Buffer.from(json).toString())[0].calls[0]
  }

  /** Whether a message, of any sender, succeeds as a transaction with exactly this gas. */
  succeeds({ message, stateOverrides = [] }: ExecutionRequest, gas: bigint): boolean {
    try {
      return this.run({ ...message, gas }, stateOverrides, true).status === '0x1'
    } catch (error) {
      const kind = error instanceof FaultError ? error.fault.kind : undefined
      if (kind === 'SimulationRefused') return false
      throw error
    }
  }
}
