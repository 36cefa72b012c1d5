import { LackedMethods } from '../../src/sources/upstream/lackedMethods.js'
import type { Upstream } from '../../src/sources/upstream/upstream.js'

/** Replaces an upstream whose answers a test gives itself; `accuse` receives reports of wrong answers. */
export function upstreamDouble(
  name: string,
  accuse: (what: string) => unknown,
): Upstream & { lack(method: string): void } {
  const lacked = new LackedMethods()
  const double = {
    name,
    accuse,
    mayHave: (method: string) => !lacked.has(method),
    noteLack: (method: string) => lacked.failed(method),
    lack: (method: string) => lacked.note(method),
  }
  return double as unknown as ReturnType<typeof upstreamDouble>
}
