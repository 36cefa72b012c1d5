/** The part `admin` of a configuration: the listener for operators. */
import * as z from 'zod'
import { hostNames } from './clients.js'
import { flag, integer, object, text, withShortForm } from './schema.js'

/** Port of the admin listener, beside 8545 to 8549, which nodes use. */
const portDefault = 8550

/** `false` is short for a listener that is not enabled. */
export const adminSchema = withShortForm(
  z.literal(false),
  () => ({ enabled: false }),
  object({
    enabled: flag().default(true),
    /** Address of its own. Only this machine can connect to the default. */
    host: text('a host name or IP address').default('127.0.0.1'),
    /** If absent, 8550 or the next free one, or any free one if `port` of the server is 0. */
    port: integer(0, 65_535).optional(),
    /** Names, besides addresses and `localhost`, that the listener accepts; other names are DNS rebinding. */
    hosts: hostNames().default([]),
    /** Age of a head above which `/ready` fails, for networks with a source; if absent, any age is accepted. */
    headAgeMsMax: integer(1_000).optional(),
    /** Time that a submission may wait for a sequencer: longer than its restart. */
    queueAgeMsMax: integer(1_000).default(60_000),
  }).prefault({}),
)

export type AdminConfig = NonNullable<ReturnType<typeof adminOf>>

/** Settings of the admin listener beside a server on `publicPort`; undefined if it is disabled. */
export function adminOf({ enabled, port, ...given }: z.output<typeof adminSchema>, publicPort: number) {
  if (!enabled) return undefined
  return {
    ...given,
    // With free ports there may be several servers on one machine.
    port: port ?? (publicPort === 0 ? 0 : portDefault),
    /** Whether the operator chose the port, so that no other one is tried. */
    isPortChosen: port !== undefined,
  }
}
