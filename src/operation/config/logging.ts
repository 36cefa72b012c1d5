/** Members of the configuration file for the log and for traces. */
import * as z from 'zod'
import { integer, object, text } from './schema.js'

/** Log levels, from everything to nothing. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

const logStyles = ['numbers', 'words'] as const

const oneInMax = 1_000_000_000

const endpointExpected =
  'a URL of http or https, without a user and password: those are headers, for headersFile'

export const loggingShape = {
  logLevel: z.enum(logLevels, { error: `expected one of ${logLevels.join(', ')}` }).default('info'),
  /** Whether log lines have the time in milliseconds and levels as numbers, or ISO 8601 and names. */
  logStyle: z.enum(logStyles, { error: `expected one of ${logStyles.join(', ')}` }).default('numbers'),
  /** One in this many requests is logged at level info; 0: none. */
  logSample: integer(0, oneInMax).default(0),
  /** If given, requests are traced. */
  traces: object({
    /** The whole URL to which OTLP is posted. */
    endpoint: z
      .url({ protocol: /^https?$/, error: `expected ${endpointExpected}` })
      .regex(/^[^:]+:\/\/[^/?#@]+(?:[/?#]|$)/, { error: `expected ${endpointExpected}` }),
    /** One in this many requests is traced; 0: only requests that belong to a client's trace. */
    sample: integer(0, oneInMax).default(1_000),
    /** Most requests a second that are traced because their client traces them; any client can ask for that. */
    parentsPerSecond: integer(0, 100_000).default(100),
    /**
     * File of headers for the collector, one per line, relative to the configuration file; only its owner may read it.
     */
    headersFile: text('the path of a file').optional(),
  }).optional(),
}
