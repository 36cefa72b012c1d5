/**
 * Requests and answers of the admin API, as schemas: the sources of types, of request checks and of the OpenAPI
 * document. Times are ISO 8601 in UTC; durations are in seconds, amounts of data in bytes. Absent is null.
 */
import * as z from 'zod'
import { overlapMsMax } from '../../serving/access/keyChanges.js'
import { ofEachLimit } from '../../serving/access/keySettings.js'
import { usageGroups } from '../../serving/access/usageReport.js'

const time = () => z.iso.datetime({ precision: 3 })
const count = (what: string) => z.int().min(0).describe(what)
const amount = (what: string) => z.number().min(0).describe(what)

export const keyId = z
  .string()
  .regex(/^[0-9a-f]{12}$/)
  .describe('id of an API key, 12 hex digits; 000000000000 stands for all callers where no keys are needed')

export const problem = z.object({ error: z.string().describe('what is wrong, and what to do') })

export const network = z.object({
  name: z.string(),
  kind: z.enum(['archive', 'history', 'gateway', 'rollup']),
  hosts: z.array(z.string()).describe('host names at which a path without a network means this one'),
  isDefault: z.boolean(),
  source: z
    .enum(['file', 'replay', 'follow', 'feed', 'develop', 'consensus', 'gateway', 'none'])
    .describe('where its blocks come from; none: they were imported, or it has none'),
  storeBytes: amount('of its store on disk'),
  opening: z.string().nullable().describe('why a chain has no block yet; null where it has one'),
  condition: z
    .object({
      level: z
        .enum(['ok', 'degraded', 'failing'])
        .describe(
          'degraded: everything is answered, but a node is out of service or blocks are still to come; failing: no further blocks come, or a part is not answered',
        ),
      why: z.string().nullable().describe('null where the level is ok'),
      since: time().describe('when this level began, at the earliest the start of the process'),
    })
    .describe('whether it is well'),
  chain: z
    .object({
      chainId: z.string().describe('decimal'),
      purpose: z
        .enum(['demo', 'developer'])
        .nullable()
        .describe('of a chain whose blocks are made here: the demo network, or a developer chain'),
      basis: z
        .record(z.string(), z.string())
        .describe(
          'how headers, transactions, receipts, state and calls are known to be right: executed, proved, reported',
        ),
      head: z.object({
        number: count('of the newest block'),
        hash: z.string(),
        timestamp: time(),
        ageSeconds: amount('since the timestamp'),
      }),
      isSyncing: z.boolean().describe('whether its source has blocks that are not taken in yet'),
      isReadable: z.boolean().describe('whether the newest block can be read'),
      isCutOff: z
        .boolean()
        .describe(
          'whether its source ended with an error, or no upstream answers or has a chain that can be followed',
        ),
      logs: z
        .object({
          from: count('of the lowest block whose logs are wanted'),
          completeFrom: z
            .int()
            .min(0)
            .nullable()
            .describe('number of the block from which on, up to the head, none is missing'),
          missing: count('blocks whose logs are not there yet'),
        })
        .nullable()
        .describe('of a gateway that completes its logs'),
      workingSet: z
        .object({
          way: z
            .enum(['accessList', 'witness', 'proofs'])
            .nullable()
            .describe('how the stored values stay current; null before the first head'),
          currentFrom: z.int().min(0).nullable().describe('block from which on all changes were taken in'),
          bytes: amount('on disk'),
          bytesMax: amount('that it may have'),
          watched: count('pinned contracts'),
          whole: count('those among them that are stored whole'),
        })
        .nullable()
        .describe('what a gateway holds of the state'),
      upstreams: z.array(
        z.object({
          name: z.string(),
          kind: z.enum(['upstream', 'beacon node']),
          head: z
            .int()
            .min(0)
            .nullable()
            .describe('number of the head that it claims; of a beacon node, the slot'),
          trouble: z.enum(['no answer', 'quarantined']).nullable(),
          since: time().describe('when this state began, at the earliest the start of the process'),
          lastError: z
            .object({ at: time(), why: z.string() })
            .nullable()
            .describe('the newest failure; null where there was none'),
          blocksBehind: z
            .int()
            .min(0)
            .nullable()
            .describe(
              'behind the highest claim and the head here; of a beacon node slots, when it claimed its head; null where it claims none',
            ),
          meanSeconds: z.number().min(0).nullable().describe('of its answers since the start'),
          answered: count('exchanges since the start'),
          failed: count('exchanges since the start'),
        }),
      ),
      signed: z
        .object({
          slot: z.int().min(0),
          finalizedSlot: z.int().min(0),
          participation: z.number().min(0).max(1).describe('share of the sync committee that signed it'),
          ageSeconds: count('since the time of the slot'),
        })
        .nullable()
        .describe('the newest head that validators signed; null where the head is not a signed one'),
      consensus: z
        .object({
          calledAt: time().nullable().describe('the last call; null before the first one'),
          silentSince: time()
            .nullable()
            .describe('the last call, or the start, where that is more than 30 s ago; null while it calls'),
          gap: z
            .object({
              head: count('number of the head that it chose'),
              fetched: count('blocks that nodes sent'),
              executed: count('blocks executed'),
              left: count('blocks not executed'),
            })
            .nullable()
            .describe('blocks between the head here and the chosen one; null where the chosen one is stored'),
        })
        .nullable()
        .describe('the calls of the consensus client; null where the network has none'),
    })
    .nullable()
    .describe('null for a rollup, and before there is a block'),
  queue: z
    .object({
      waiting: count('submissions that wait for the sequencer'),
      waitingBytes: count('their bytes'),
      oldestSeconds: amount('time that the oldest of them has waited'),
      settled: count('submissions with a verdict that are kept'),
      isStoring: z.boolean(),
      sequencerAnswers: z
        .boolean()
        .nullable()
        .describe('null where none was asked yet, or another process sends'),
    })
    .nullable()
    .describe('of a rollup'),
})

const methodRates = z.object({
  network: z.string(),
  method: z.string(),
  callsPerSecond: amount('calls, of batches too'),
  repeatedPerSecond: amount('those among them that a stored answer answered'),
  errorsPerSecond: amount('those among them that ended with an error'),
  p50Seconds: z.number().min(0).nullable().describe('median of the timed calls; null where there are none'),
  p99Seconds: z.number().min(0).nullable(),
  resultBytesPerSecond: amount('of results, without streamed ones'),
})

const notedCall = z.object({
  at: time(),
  method: z.string(),
  network: z.string(),
  keyId,
  keyName: z.string().nullable(),
  seconds: z.number().min(0).describe('0 where it was not timed'),
  error: z.string().nullable().describe('code and message; null for a result'),
  block: z
    .string()
    .nullable()
    .describe('the block or the range that it asked for, with the number that "latest" meant; null for none'),
  params: z.string().describe('its parameters as JSON, the first 1,000 characters'),
})

export const liveState = z.object({
  at: time(),
  version: z.string(),
  transport: z.string().describe('the HTTP and WebSocket library in use'),
  uptimeSeconds: amount('since the process started'),
  diskFreeBytes: amount('of the disk of the data folder'),
  ready: z.boolean(),
  failing: z.array(
    z.object({
      check: z.string(),
      network: z.string().nullable(),
      why: z.string(),
      since: time().describe('when the check began to fail'),
    }),
  ),
  sharedKeys: z
    .object({
      isAnswering: z.boolean().describe('whether the database answers'),
      ageSeconds: count('since all its keys were known here'),
      isAccepting: z.boolean().describe('whether keys that are known here are accepted'),
      since: time().describe('when this state began, at the earliest the start of the process'),
    })
    .nullable()
    .describe('null where no keys are needed, or they are not shared'),
  networks: z.array(network),
  callsPerSecond: amount('of the last second'),
  errorsPerSecond: amount('calls of the last second that ended with an error'),
  rejectionsPerSecond: amount('requests of the last second refused before any method was called'),
  windowSeconds: amount('what the rates and quantiles below are taken over'),
  p50Seconds: z.number().min(0).nullable().describe('median of the timed calls of all methods'),
  p99Seconds: z.number().min(0).nullable(),
  methods: z.array(methodRates).describe('those called within the window, busiest first'),
  errors: z.array(z.object({ code: z.string(), total: count('since the start'), perSecond: amount('') })),
  rejections: z.array(
    z.object({
      reason: z.string(),
      text: z.string().describe('the reason as a sentence'),
      total: count('since the start'),
      perSecond: amount(''),
    }),
  ),
  queues: z
    .array(
      z.object({
        class: z.string(),
        waiting: count('jobs that wait for a thread'),
        running: count('jobs that run'),
        finished: count('since the start'),
        failed: count('since the start'),
        refused: count('since the start, for lack of room'),
      }),
    )
    .describe('of the worker pool'),
  caches: z.array(
    z.object({
      cache: z.string(),
      bytes: count('in use'),
      hits: count('since the start'),
      misses: count('since the start'),
    }),
  ),
  connections: z.object({
    http: count('open connections, without WebSockets'),
    webSockets: count('open WebSockets'),
    subscriptions: count('open subscriptions'),
    skippedEvents: count('events skipped for slow readers since the start'),
  }),
  edges: z
    .array(
      z.object({
        edge: z.int().min(0),
        cpuShare: amount('of one core, over the window'),
        heapBytes: count('JavaScript heap in use'),
        loopDelayP99Seconds: z.number().min(0).nullable().describe('how late timers came, over the window'),
      }),
    )
    .describe('threads that listen'),
  topKeys: z
    .array(
      z.object({
        id: keyId,
        name: z.string().nullable(),
        units: count('compute units'),
        calls: count(''),
        errors: count(''),
        bytes: count('of results'),
      }),
    )
    .describe('keys that spent most units in the last minute'),
  refusedKeys: z
    .array(
      z.object({
        id: keyId,
        name: z.string().nullable(),
        reason: z.string().describe('quota of the day, limit, method, or a reason of refused requests'),
        count: count('calls and requests'),
        at: time().describe('of the last one'),
        why: z.string().describe('the text of the last one'),
      }),
    )
    .describe('keys whose calls or requests were refused in the last hour, by reason, most first'),
  slowCalls: z.array(notedCall).describe('calls that took long, newest first'),
  failedCalls: z
    .array(notedCall)
    .describe(
      'the newest call of each failure by key, network, method and error, without refusals; newest first',
    ),
})

const series = (what: string) => z.array(z.number().min(0)).describe(`${what}, for each time`)
const secondsSeries = (what: string) =>
  z.array(z.number().min(0).nullable()).describe(`${what}; null where there is none`)

const spans = { hour: 3_600, day: 86_400 } as const
export const historyQuery = z.strictObject({
  span: z.enum(['hour', 'day']).default('hour').describe('the last one'),
  network: z.string().optional().describe('whose calls the rates, times and errors are of; absent: all'),
  method: z.string().optional().describe('as network, for a method'),
  key: keyId.optional().describe('the key whose units are shown; absent: the keys that spent most'),
})
export const secondsOf = ({ span }: HistoryQuery): number => spans[span]

const callFigures = z.object({
  calls: count('calls, of batches too'),
  errors: count('those among them that ended with an error'),
  p50Seconds: z.number().min(0).nullable().describe('median of the timed calls; null where there are none'),
  p99Seconds: z.number().min(0).nullable(),
})

export const callHistory = z.object({
  at: z
    .array(time())
    .describe(
      'ends of times of a minute or some, oldest first; all figures are of the time since the one before',
    ),
  callsPerSecond: series('calls'),
  errorsPerSecond: series('calls that ended with an error'),
  rejectionsPerSecond: series('requests refused before any method was called'),
  p50Seconds: secondsSeries('median of the timed calls'),
  p99Seconds: secondsSeries('their 99th percentile'),
  errors: z
    .array(z.object({ code: z.string(), perSecond: series('errors of all methods') }))
    .describe('of the chosen network and method by code, most first; other: all other codes'),
  keys: z
    .array(
      z.object({
        id: keyId.nullable().describe('null: all others together'),
        name: z.string().nullable(),
        unitsPerSecond: series('compute units'),
      }),
    )
    .describe('those that spent most, most first'),
  methods: z
    .array(callFigures.extend({ network: z.string().nullable(), method: z.string() }))
    .describe('over the whole time, of the chosen network, busiest first; null: the sum of all others'),
  networks: z.array(callFigures.extend({ network: z.string() })).describe('over the whole time'),
  failures: z
    .array(
      z.object({
        network: z.string().nullable(),
        method: z.string().nullable(),
        code: z.string(),
        count: count('errors over the whole time'),
      }),
    )
    .describe('by network, method and code, most first; null: of several'),
  refusals: z
    .array(z.object({ reason: z.string(), text: z.string(), count: count('requests over the whole time') }))
    .describe('requests refused before any method was called, most first'),
  ages: z.array(z.object({ network: z.string(), seconds: secondsSeries('age of the head') })),
})

export const lastBlock = z.object({
  number: count('of the block'),
  hash: z.string(),
  timestamp: time(),
  transactions: z.int().min(0).nullable().describe('null where a gateway has its header alone'),
  gasUsed: count('by its transactions'),
  gasLimit: count('of the block'),
})

export const submissions = z.object({
  prefix: z.string().describe('of the methods by which a transaction can be asked for'),
  waiting: z
    .array(
      z.object({
        hash: z.string(),
        state: z.enum(['RECEIVED', 'SENT']),
        sender: z.string(),
        nonce: z.string(),
        receivedAt: time(),
        bytes: count('of the transaction as JSON'),
      }),
    )
    .describe('those that wait longest, oldest first'),
})

export const key = z.object({
  id: keyId,
  name: z.string(),
  state: z.enum(['live', 'expired', 'revoked']),
  createdAt: time(),
  changedAt: time().nullable().describe('of its last change'),
  changedBy: z.string().nullable(),
  expiresAt: time().nullable(),
  revokedAt: time().nullable(),
  earlierSecretUntil: time().nullable().describe('end of the secret before the newest, after a rotation'),
  tokens: z
    .array(
      z.object({
        id: z.string(),
        algorithm: z.enum(['ES256', 'HS256']),
        audience: z.string().nullable(),
        subject: z.string().nullable(),
        addedAt: time(),
      }),
    )
    .describe('signers of JSON Web Tokens that stand for the key'),
  scopes: z
    .object({
      networks: z.array(z.string()),
      methods: z.array(z.string()).describe('names, or their beginnings as in eth_*'),
      origins: z.array(z.string()),
      addresses: z.array(z.string()).describe('IP addresses and CIDR blocks'),
    })
    .describe('all kinds must fit, and of each kind one entry; an empty list fits all'),
  limits: z.object(ofEachLimit(() => z.int().min(0).nullable())).describe('null: as the configuration says'),
  day: z
    .object({
      units: count('compute units that it may spend today'),
      spent: count('those spent'),
      resetsAt: time(),
    })
    .nullable()
    .describe('the daily quota; null without one'),
})

export const newKey = z.object({
  key,
  text: z.string().describe('the secret; stored nowhere, so that it is not shown again'),
})

export const rotation = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(overlapMsMax / 1_000)
    .default(86_400)
    .describe('how long the earlier secret stays valid'),
})

export const auditQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100).describe('entries at most'),
  before: z.coerce.number().int().min(1).optional().describe('those before this entry; absent: the newest'),
})

export const auditEntry = z.object({
  sequence: z.int().min(1),
  at: time(),
  actor: z.string().describe('who: cli and a user, admin and an address, serve, or a signal'),
  action: z.string(),
  keyId: keyId.nullable(),
  detail: z.string(),
  hash: z.string().describe('of this entry and all before it, 64 hex digits'),
})

const dayOrTime = (what: string) => z.string().describe(`${what}; ISO 8601, a day in UTC or a time`)

export const usageQuery = z.strictObject({
  key: keyId.optional(),
  network: z.string().optional(),
  method: z.string().optional(),
  from: dayOrTime('the hour that holds this time is the first; where absent, a day before "to"').optional(),
  to: dayOrTime('the end; at most, and where absent, now').optional(),
  by: z
    .string()
    .describe(`any of ${usageGroups.join(', ')}, separated by commas; where absent, key,method`)
    .optional(),
})

export const usage = z.object({
  from: time().describe('begin of the first hour'),
  to: time().describe('end of the last hour'),
  rows: z.array(
    z.object({
      key: keyId.optional(),
      network: z.string().optional(),
      method: z.string().optional(),
      time: time().optional().describe('when the hour or day begins'),
      calls: count('calls, of batches too'),
      errors: count('those among them that ended with an error'),
      units: count('compute units spent'),
      bytes: count('of results'),
    }),
  ),
})

export const playground = z.object({
  networks: z.array(
    z.object({
      name: z.string(),
      tag: z.enum(['chain', 'rollup']).describe('of its methods in the OpenRPC document'),
      prefix: z.string().nullable().describe('of a rollup: takes the place of rollupx in names of methods'),
      url: z.string().describe('where clients call it; YOUR_API_KEY stands for a key'),
      socketUrl: z.string().describe('the same for WebSockets'),
      example: z
        .object({ transaction: z.string(), contract: z.string(), slot: z.string(), variable: z.string() })
        .nullable()
        .describe('what is worth asking for; of the demo network'),
    }),
  ),
  openRpc: z.unknown().describe('the OpenRPC document of the methods'),
})

export const rpcCall = z.object({
  method: z.string(),
  params: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).default([]),
})

export const rpcAnswer = z.object({
  answer: z.string().describe('the JSON-RPC answer, as clients get it'),
  seconds: amount('from the request to the answer, in the server'),
})

export type Playground = z.output<typeof playground>
export type RpcCall = z.output<typeof rpcCall>
export type RpcAnswer = z.output<typeof rpcAnswer>
export type Network = z.output<typeof network>
export type LiveState = z.output<typeof liveState>
export type HistoryQuery = z.output<typeof historyQuery>
export type CallHistory = z.output<typeof callHistory>
export type LastBlock = z.output<typeof lastBlock>
export type Submissions = z.output<typeof submissions>
export type NewKey = z.output<typeof newKey>
export type Rotation = z.output<typeof rotation>
export type Key = z.output<typeof key>
export type AuditQuery = z.output<typeof auditQuery>
export type AuditEntry = z.output<typeof auditEntry>
export type UsageQuery = z.output<typeof usageQuery>
export type Usage = z.output<typeof usage>
