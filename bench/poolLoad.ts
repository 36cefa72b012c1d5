/**
 * Keeps the pool of a server busy until it is killed: 16 connections, each asking again at once, every other question
 * a proof with 3 keys never asked before, or an estimate of a token transfer. A process of its own, so that it takes
 * no time from the loader that measures. Started by `disturbedReads.ts` with the server's URL; sends one message once
 * the load is on.
 */
import { setPriority } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { addressOf, calldata, word } from './demoFacts.js'
import { saturate, targetOf, withConnections } from './httpLoader.js'
import { rpc } from './rpc.js'

const url = process.argv[2] as string
const connections = 16
/** Longer than any run. */
const secondsMax = 3_600

// It stands for other machines, so it should not take the loader's core.
setPriority(10)
const [token, from, to] = [addressOf('Tide'), addressOf('bea'), addressOf('cal')]
let serial = Date.now() * 100

function nextBody(): string {
  serial += 3
  if (serial % 2 === 0) {
    return rpc('eth_getProof', [token, [word(serial), word(serial + 1), word(serial + 2)], 'latest'])
  }
  const data = calldata('transfer(address,uint256)', [to, 1 + (serial % 1_000_000)])
  return rpc('eth_estimateGas', [{ from, to: token, data }])
}

void withConnections(targetOf(url), connections, (open) => saturate(open, secondsMax, nextBody))
// The queue of the pool is full long before.
await setTimeout(200)
process.send?.('loaded')
