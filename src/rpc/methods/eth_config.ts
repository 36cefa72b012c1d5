import { forkConfigJson } from '../../chain/forkConfig.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { addressSchema, mapSchema, nullable, objectSchema, quantitySchema, textSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'

const contractsSchema = mapSchema('addresses by name', textSchema, addressSchema)
const integerSchema = { type: 'integer', minimum: 0 }
const forkSchema = nullable(
  objectSchema(
    'Fork',
    {
      activationTime: integerSchema,
      chainId: quantitySchema,
      forkId: { type: 'string', title: '4 bytes', pattern: '^0x[0-9a-f]{8}$' },
      precompiles: contractsSchema,
      systemContracts: contractsSchema,
    },
    {
      blobSchedule: objectSchema('BlobSchedule', {
        target: integerSchema,
        max: integerSchema,
        baseFeeUpdateFraction: integerSchema,
      }),
    },
  ),
)

/** The fork that is active at the head, the next one and the last one planned, with their contracts (EIP-7910). */
export const eth_config = defineMethod({
  name: 'eth_config',
  summary: 'The current, the next and the last fork with their settings (EIP-7910)',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 10,
  memo: 'head',
  result: objectSchema('ForkConfig', { current: forkSchema, next: forkSchema, last: forkSchema }),
  run({ chain, head }: Network) {
    const { config, genesisHash } = chain.identity
    // Forks by time come after a genesis that is not held, so any time before them does.
    const genesis = chain.firstNumber === 0 ? stateBlock(chain, { kind: 'number', number: 0 }, 0) : undefined
    const genesisTime = (genesis && chain.readHeader(genesis.hash)?.timestamp) ?? 0
    return forkConfigJson(
      { schedule: chain.schedule, config, genesisHash, genesisTime },
      head.header.timestamp,
    )
  },
})
