/** The origin of a network's blocks: the schema of `source`, and the checks that a schema cannot express. */
import * as z from 'zod'
import { type BeaconConfig, beaconNode, beaconSchema } from './beacon.js'
import { feedSource } from './databases.js'
import { findMissingFiles, rawPath, withAbsolute } from './paths.js'
import { flag, integer, list, object, text } from './schema.js'
import { findUpstreamFaults, passThroughSchema, upstreamSchema } from './upstream.js'

/** An hour: no chain takes longer from one block to the next. */
const intervalMsMax = 3_600_000

/**
 * After a reorganisation of the script, the return to `file` executes one block more than this. A branch of more than
 * 1,024 blocks is never executed at once.
 */
const backMax = 1_000

/** Paths are relative to the configuration file. */
const fileSource = object({
  type: z.literal('file'),
  /** A chain file (RLP blocks, plain or gzip), imported at full speed. */
  path: text('the path of a chain file'),
})

const replaySource = object({
  type: z.literal('replay'),
  /** A chain file, played at intervals. */
  file: text('the path of a chain file'),
  /** Number of the last block that is imported at full speed; every start plays again from there. */
  from: integer(0),
  intervalMs: integer(1, intervalMsMax),
  /** Reorganisations, in the order in which they happen. */
  script: list(
    object({
      /** Once this block of the file is the head … */
      after: integer(0),
      /** … this many blocks, the head and those below it, … */
      back: integer(1, backMax),
      /** … are replaced by the blocks of this chain file. Then `file` continues. */
      file: text('the path of a chain file'),
    }),
  ).default([]),
})

/**
 * Most blocks that a reorganisation replaces: all bundles of a branch wait in memory for one transaction. Finality ends
 * reorganisations on public chains after 64 to 96 blocks; `evm_revert` on a development chain goes back further.
 */
const reorgDepthDefault = 1_024
const reorgDepthMax = 8_192

/** Longer than the lag between nodes behind one address; `evm_revert` is noticed after this time. */
const revertAfterMsDefault = 2_000

/** Two polls a second see a block of the fastest public chains; a node with a WebSocket is not polled for heads. */
const pollMsDefault = 500

const followSource = object({
  type: z.literal('follow'),
  /** Nodes of one chain, asked as one. */
  upstreams: list(upstreamSchema).min(1, { error: 'expected at least one node' }),
  /** Number of nodes that must have a head before it is followed; if absent, a majority. */
  quorum: integer(1).optional(),
  /** Time between two polls for the head of a node without a WebSocket. */
  pollMs: integer(10, intervalMsMax).default(pollMsDefault),
  /** Longest time for one block, over all attempts. */
  timeoutMs: integer(1, 600_000).default(30_000),
  /** Most blocks that a reorganisation of the nodes replaces; a deeper one is not followed. */
  reorgDepthMax: integer(1, reorgDepthMax).default(reorgDepthDefault),
  /** Time for which a node that had our head must deny it until its lower one is followed. */
  revertAfterMs: integer(1, intervalMsMax).default(revertAfterMsDefault),
  passThrough: passThroughSchema,
  /**
   * Beacon nodes that confirm the head by signatures; if absent, the head is the highest block that `quorum` nodes
   * have.
   */
  beacon: beaconSchema.optional(),
})

/** Chain id, accounts and their ether: those of anvil without flags. */
export const devChainIdDefault = 31_337
export const devBalanceDefault = 10_000
export const knownAccountsDefault = 10
/** Deriving a key takes some 0.3 ms, once; larger suites of tests fund accounts of their own. */
export const knownAccountsMax = 1_000
/** Time between two blocks, in seconds. */
export const blockSecondsMax = intervalMsMax / 1_000

const developSource = object({
  type: z.literal('develop'),
  /** A chain file whose blocks come first, at full speed. */
  recorded: text('the path of a chain file').optional(),
  /** Time between two new blocks; 0: one block for each transaction. The timestamps of headers are whole seconds. */
  blockSeconds: integer(0, blockSecondsMax).default(2),
  /** Whether blocks come without a request for each; "evm_setAutomine" and "evm_setIntervalMining" change it. */
  mining: flag().default(true),
  /** Number of accounts of the well-known mnemonic that it signs for. */
  accounts: integer(0, knownAccountsMax).default(knownAccountsDefault),
})

/** A block whose payload has 10 MiB, the most that Osaka allows, is some 25 MiB of JSON. */
const beaconBlockBytesMax = 64 * 2 ** 20

/** The blocks of a consensus client, which calls a listener of their own. */
const consensusSource = object({
  type: z.literal('consensus'),
  /** Address of the listener. Only this machine can connect to the default. */
  host: text('a host name or IP address').default('127.0.0.1'),
  /** Port of the listener; the one that consensus clients call by default. 0 takes a free one. */
  port: integer(0, 65_535).default(8551),
  /**
   * The file of the secret that the consensus client has too, 32 bytes in hex; if absent, `node/jwt.hex` in the data
   * folder, which is made.
   */
  jwtSecret: text('the path of a file').optional(),
  /** Nodes that send the blocks between the store and the head that the client chose, by their hashes. */
  from: list(upstreamSchema).default([]),
  /** Beacon nodes that are asked for those blocks where the nodes of `from` do not have them. */
  beaconNodes: list(beaconNode(beaconBlockBytesMax)).default([]),
  transactions: object({
    /** Nodes that get the transactions of the pool, too. */
    to: list(upstreamSchema).default([]),
  }).default({ to: [] }),
})

const types = '"file", "replay", "follow", "develop", "consensus" or "feed"'
export const sourceSchema = z.discriminatedUnion(
  'type',
  [fileSource, replaySource, followSource, developSource, consensusSource, feedSource],
  {
    error: ({ code }) => (code === 'invalid_union' ? `expected ${types}` : 'expected an object'),
  },
)

/** The source for a URL on the command line. */
export function followUrl(url: string, beacon: BeaconConfig | undefined): SourceConfig {
  return { ...followSource.parse({ type: 'follow', upstreams: [url] }), beacon }
}

/** The source for a consensus client on the command line. */
export function consensusFlags(flags: {
  readonly host: string | undefined
  readonly port: number | undefined
  readonly jwtSecret: string | undefined
  readonly from: readonly string[] | undefined
  readonly beaconNodes: readonly string[] | undefined
}): SourceConfig {
  return consensusSource.parse({ type: 'consensus', ...flags })
}

export type SourceConfig = z.output<typeof sourceSchema>

export function withAbsoluteSource(source: SourceConfig, folder: string): SourceConfig {
  const absolute = withAbsolute(source, folder, 'path', 'file', 'recorded', 'jwtSecret')
  if (absolute.type !== 'replay') return absolute
  return { ...absolute, script: absolute.script.map((step) => withAbsolute(step, folder, 'file')) }
}

/** The parts that are compared with each other. A part of the wrong type is left out: the schema reports it. */
const crossSchema = z
  .object({
    path: rawPath,
    file: rawPath,
    recorded: rawPath,
    jwtSecret: rawPath,
    from: z.number().catch(0),
    script: z
      .array(
        z
          .object({
            after: z.number().optional().catch(undefined),
            back: z.number().catch(1),
            file: rawPath,
          })
          .catch({ back: 1 }),
      )
      .catch([]),
  })
  .catch({ from: 0, script: [] })

/** The `from` of a consensus client's source; that of a replay is a number. */
function nodesOf(raw: unknown): unknown {
  return z.object({ from: z.array(z.unknown()) }).safeParse(raw).data?.from
}

function beaconNodesOf(raw: unknown): unknown {
  return z.object({ beaconNodes: z.array(z.unknown()) }).safeParse(raw).data?.beaconNodes
}

/** Nodes that get the transactions of the pool. */
function receiversOf(raw: unknown): unknown {
  return z.object({ transactions: z.object({ to: z.array(z.unknown()) }) }).safeParse(raw).data?.transactions
    .to
}

/** Finds missing files and steps that contradict each other. Each line begins with the path within `source`. */
export function findSourceFaults(raw: unknown, folder: string): string[] {
  const { path, file, recorded, jwtSecret, from, script } = crossSchema.parse(raw)
  const faults = [
    ...findUpstreamFaults(raw),
    ...findUpstreamFaults({ upstreams: nodesOf(raw) }).map((fault) =>
      fault.replaceAll('upstreams[', 'from['),
    ),
    ...findUpstreamFaults({ upstreams: beaconNodesOf(raw) }).map((fault) =>
      fault.replaceAll('upstreams[', 'beaconNodes['),
    ),
    ...findUpstreamFaults({ upstreams: receiversOf(raw) }).map((fault) =>
      fault.replaceAll('upstreams[', 'transactions.to['),
    ),
    ...findMissingFiles({ path, file, recorded, jwtSecret }, folder),
  ]
  let last: number | undefined
  for (const [index, { after, back, file }] of script.entries()) {
    const key = `script[${index}]`
    for (const fault of findMissingFiles({ [`${key}.file`]: file }, folder)) faults.push(fault)
    if (after === undefined) continue
    if (last !== undefined && after <= last) {
      faults.push(`${key}.after: expected more than ${last}, which stands before it, got ${after}`)
    }
    last = after
    if (after - back < from) {
      faults.push(
        `${key}.back: expected at most after - from (${after} - ${from}), because nothing below from is played, got ${back}`,
      )
    }
  }
  return faults
}
