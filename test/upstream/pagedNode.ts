/** A node that returns whole states in short pages, so that even a small state has many. */
import type { Test } from 'tap'
import { forwardTo, type NodeAnswer, type NodeCall, WeatherNode } from './weatherNode.js'

export type Change = (call: NodeCall, answer: NodeAnswer) => NodeAnswer | Promise<NodeAnswer>

/**
 * Such a node for the one at `origin`, with pages of 20 accounts and 3 slots, which `change` may change. Ends with the
 * test.
 */
export async function startPaged(
  t: Test,
  origin: string,
  change: Change = (_, answer) => answer,
): Promise<WeatherNode> {
  const forward = forwardTo(origin)
  const node = new WeatherNode(async (call) => {
    const { method, params } = call
    const shorter = [...params]
    if (method === 'debug_accountRange') shorter[2] = 20
    if (method === 'debug_storageRangeAt') shorter[4] = 3
    return change(call, await forward({ method, params: shorter }))
  })
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  return node
}
