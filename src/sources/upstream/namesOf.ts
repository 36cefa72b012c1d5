import type { UpstreamOptions } from './upstream.js'

/** Nodes with unique names: host and port, plus a number if several share them. */
export function namesOf(nodes: readonly UpstreamOptions[]): [UpstreamOptions, string][] {
  const counts = new Map<string, number>()
  return nodes.map((node) => {
    const { host } = new URL(node.url)
    const count = (counts.get(host) ?? 0) + 1
    counts.set(host, count)
    return [node, count === 1 ? host : `${host} (${count})`]
  })
}
