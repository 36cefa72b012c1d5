/** Makes one network, named by a plan of `networks.ts` as JSON, unless the cache has it. */
import { findNetwork, type NetworkPlan } from './networks.js'

await findNetwork('network', JSON.parse(process.argv[2] ?? '') as NetworkPlan)
