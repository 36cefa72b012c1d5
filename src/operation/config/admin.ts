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
    /** Address of its own. Only this machine can reach the default. */
    host: text('a host name or IP address').default('127.0.0.1'),
    /** Where absent, 8550 or the next free one, or any free one where `port` of the server is 0. */
    port: integer(0, 65_535).optional(),
    /** Names, besides addresses and `localhost`, at which the listener may be asked; others are DNS rebinding. */
    hosts: hostNames().default([]),
    /** Age of a head above which `/ready` fails, of networks with a source; where absent, any age will do. */
    headAgeMsMax: integer(1_000).optional(),
    /** How long a submission may wait for a sequencer; longer than the restart of one. */
    queueAgeMsMax: integer(1_000).default(60_000),
  }).prefault({}),
)

/** Settings of the admin listener. */
export type AdminConfig = NonNullable<ReturnType<typeof adminOf>>

/** Settings of the admin listener beside a server on `publicPort`; undefined where there is none. */
export function adminOf({ enabled, port, ...given }: z.output<typeof adminSchema>, publicPort: number) {
  if (!enabled) return undefined
  return {
    ...given,
    // Servers on free ports are several on one machine.
    port: port ?? (publicPort === 0 ? 0 : portDefault),
    /** Whether the operator chose the port, so that no other one will do. */
    isPortChosen: port !== undefined,
  }
}
