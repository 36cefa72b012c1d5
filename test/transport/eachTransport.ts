import t, { type Test } from 'tap'
import { loadTransport } from '../../src/serving/transport/chooseTransport.js'
import type { Transport } from '../../src/serving/transport/wire.js'

const names = ['uws', 'node'] as const

interface Candidate {
  readonly name: Transport['name']
  /** The transport; undefined if it cannot be loaded on this machine. */
  readonly transport: Transport | undefined
}

const candidates: readonly Candidate[] = await Promise.all(
  names.map(async (name) => ({ name, transport: await loadTransport(name).catch(() => undefined) })),
)

/** The transports that can be loaded here, the program's preferred one first. */
export const transports = candidates.flatMap(({ transport }) => transport ?? [])

/** Set by {@link test}: the transport for the servers of a test. */
interface Context {
  transport?: Transport
}

/** The transport of a test that {@link test} runs, or the program's preferred one. */
export function transportOf({ context }: { readonly context?: Context }): Transport {
  return context?.transport ?? (transports[0] as Transport)
}

/** A test that runs on each transport. */
export function test(title: string, run: (t: Test, transport: Transport) => Promise<unknown>): void {
  for (const { name, transport } of candidates) {
    const skip = transport === undefined && 'uWebSockets.js cannot be loaded here'
    t.test(`${name}: ${title}`, { skip }, async (t) => {
      if (transport === undefined) return
      t.context = { transport } satisfies Context
      await run(t, transport)
    })
  }
}
