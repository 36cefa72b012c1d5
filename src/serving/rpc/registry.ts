/** Every method of a network of blocks, by its name on the wire. Families of methods are in `methods/`. */
import { nameMethods } from './method.js'
import { accountMethods } from './methods/accounts.js'
import { blockMethods } from './methods/blocks.js'
import { callMethods } from './methods/calls.js'
import { debugStateMethods } from './methods/debugState.js'
import { debugTraceMethods } from './methods/debugTraces.js'
import { feeMethods } from './methods/fees.js'
import { fillMethods } from './methods/fill.js'
import { logMethods } from './methods/logs.js'
import { mappingMethods, variableMethods } from './methods/mappings.js'
import { nodeMethods } from './methods/node.js'
import { otterscanMethods } from './methods/otterscan.js'
import { parityTraceMethods } from './methods/parityTraces.js'
import { poolMethods } from './methods/pool.js'
import { proofMethods } from './methods/proofs.js'
import { rawPartMethods } from './methods/rawParts.js'
import { signingMethods } from './methods/signing.js'
import { subscriptionMethods } from './methods/subscriptions.js'
import { transactionMethods } from './methods/transactions.js'
import type { Network } from './network.js'

const families = {
  ...accountMethods,
  ...blockMethods,
  ...callMethods,
  ...debugStateMethods,
  ...debugTraceMethods,
  ...feeMethods,
  ...fillMethods,
  ...logMethods,
  ...mappingMethods,
  ...nodeMethods,
  ...otterscanMethods,
  ...parityTraceMethods,
  ...poolMethods,
  ...proofMethods,
  ...rawPartMethods,
  ...signingMethods,
  ...subscriptionMethods,
  ...transactionMethods,
  ...variableMethods,
}

export type MethodName = keyof typeof families

export const methods = nameMethods<Network, MethodName>(families)
