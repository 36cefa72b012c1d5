import { NodePolicy } from '../../src/sources/upstream/nodePolicy.js'
import type { Upstream } from '../../src/sources/upstream/upstream.js'

/** Replaces an upstream whose answers a test gives itself; `accuse` receives reports of wrong answers. */
export function upstreamDouble(name: string, accuse: (what: string) => unknown): Upstream {
  const policy = new NodePolicy(name)
  policy.accuse = (what) => void accuse(what)
  return { name, policy } as Partial<Upstream> as Upstream
}
