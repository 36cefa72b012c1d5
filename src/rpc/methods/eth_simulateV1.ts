import { defineMethod } from '../method.js'
import type { JobNetwork } from '../network.js'
import { stateBlockId } from '../params.js'
import { listSchema, simulatedBlockSchema } from '../schema.js'
import { simulation } from '../simulateParams.js'
import { stateBlock } from '../stateBlock.js'

/**
 * Blocks that would follow a block if they contained the given messages, as go-ethereum simulates them: with
 * overrides of blocks and states, and what each message comes to. A message that fails in its execution is part of
 * the answer; one that may not start is a fault of the whole call.
 */
export const eth_simulateV1 = defineMethod({
  name: 'eth_simulateV1',
  summary: 'Blocks that would follow a block with given messages, and what each message comes to',
  params: [simulation, stateBlockId],
  paramNames: ['simulation', 'block'],
  cost: 'job',
  jobClass: 'execute',
  price: ([{ blocks }]) => blocks.reduce((sum, { calls }) => sum + 20 * (1 + calls.length), 100),
  memo: 'head',
  result: listSchema(simulatedBlockSchema),
  run({ chain, jobs, execution }: JobNetwork, [simulation, id], caller) {
    const { number, hash, isPending } = stateBlock(chain, id, 1)
    const gasMax = BigInt(execution.simulationGasMax)
    return jobs.run('simulate', { ...simulation, block: { number, hash, isPending }, gasMax }, caller)
  },
})
