/** The command line of the benchmarks. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../src/primitives/packageRoot.js'

export interface BenchOptions {
  readonly isHelp: boolean
  /** Whether to print what the options choose, without a run. */
  readonly isList: boolean
  readonly isCheck: boolean
  readonly isQuick: boolean
  readonly withAnvil: boolean
  /** Endpoint to measure instead of starting a server. */
  readonly url: string | undefined
  /** Parts of scenario names; empty for all. */
  readonly only: readonly string[]
  /** Attacks of the scenario `neighbours` by name; empty for all. */
  readonly attacks: readonly string[]
  readonly rounds: number
  readonly seconds: number
  readonly latencyRounds: number
  readonly latencySeconds: number
  readonly warmUpSecondsMax: number
  readonly connections: number
  readonly accounts: number
  readonly largeSlots: number
  /** Blocks of the network that random blocks and transactions are read from. */
  readonly blocks: number
  /** Blocks of the chain that logs are searched in. */
  readonly logBlocks: number
  /** Size of the networks of the scenario `store`: 1 for whole ones. */
  readonly storeShare: number
  readonly loader: 'own' | 'autocannon'
  /** Members of the server's configuration under `limits`. */
  readonly limits: Readonly<Record<string, number>>
  readonly profileFolder: string | undefined
  /** Folder of the reports. */
  readonly out: string | undefined
  /** A report to write into bench/README.md, without a run. */
  readonly publish: string | undefined
  /** A report to compare with the targets, without a run. */
  readonly report: string | undefined
  /** Folder of the benchmarks of gas; undefined where there is none. */
  readonly gasFolder: string | undefined
}

export const helpText = `Measures Tidegate beside a bare uWebSockets.js server that answers the same bytes.

  npm run bench -- [flags] [GAS]   everything, in an hour with anvil: a table here, JSON and an HTML page under
                                   bench/results
  npm run bench:check              a short run beside anvil of what has targets, in less than 10 minutes on two cores
                                   once its networks are made, which takes at most 5 more; exits 1 where it falls
                                   short of bench/targets.json. Rates are taken by the suite's own loader, latencies
                                   by autocannon

  --against anvil                  also the same questions to anvil holding the same chain; answers are compared first
  --url URL                        measure this endpoint, holding the demo chain, instead of a server of our own;
                                   what needs other networks, or a server without caches, is left out
  --only NAME[,NAME]               scenarios whose name contains one of these; neighbours is what attackers do to
                                   others, prices what a unit of a key's allowance buys, gas how slow the slowest gas
                                   is by the files in the folder GAS (../shared/gas-benchmarks); it fails below 10
                                   Mgas a second of CPU
  --attack NAME[,NAME]             of neighbours, these attacks only
  --list                           no run: the scenarios that these flags choose, with the seconds that each may take
  --quick                          short rounds and small networks: a first look, not a measurement
  --rounds N, --seconds N          rounds of each server (7), and how long one takes (1)
  --connections N                  at the same time (64)
  --accounts N                     accounts of the network that proofs are of (1,000,000)
  --slots N                        slots of the largest network read from (1,000,000); 100,000,000 take 15 GB
                                   to make, once
  --log-blocks N                   blocks of the chain that logs are searched in (1,000,000; fewer with --quick and in a
                                   check); a million take five minutes to make, once
  --store-share N                  of the scenario store, how large its networks are: 1, which takes hours, 0.01 with
                                   --quick
  --loader own|autocannon          who makes the load (own); autocannon reaches about half as much
  --limit NAME=N                   a member of the server's limits, for example poolNiceness=0; may be repeated
  --cpu-prof DIR                   write CPU profiles of the server's threads into this folder; they cost it
                                   some of its speed
  --out DIR                        where the reports go
  --publish FILE                   no run: this report's table into bench/README.md, its charts beside it
  --report FILE                    with --check, no run: whether this report reaches the targets
  --help                           this text

Networks are made once, as many at a time as there are cores, and kept in TIDEGATE_BENCH_CACHE, or else in
tidegate-bench under the user's cache folder. Ctrl-C and SIGTERM end a run at once; what is measured by then is
written, and the exit status is that of it.
`

/**
 * Settings of a whole run, a quick one and a check. Many short rounds are more reliable than few long ones. A check has
 * the fewest that give a median, and networks that fit into ten minutes and five more to make them.
 */
const modes = {
  whole: {
    rounds: 7,
    seconds: 1,
    // A store of 10,000,000 slots is mapped, and code compiled, in 40 s; a busy machine may never become steady.
    warmUpSecondsMax: 60,
    latencyRounds: 3,
    latencySeconds: 4,
    accounts: 1_000_000,
    slots: 1_000_000,
    blocks: 50_000,
    logBlocks: 1_000_000,
    storeShare: 1,
  },
  quick: {
    rounds: 3,
    seconds: 0.5,
    warmUpSecondsMax: 0.5,
    latencyRounds: 1,
    latencySeconds: 1,
    accounts: 100_000,
    slots: 100_000,
    blocks: 20_000,
    logBlocks: 100_000,
    storeShare: 0.01,
  },
  check: {
    rounds: 3,
    seconds: 0.4,
    warmUpSecondsMax: 2,
    latencyRounds: 1,
    latencySeconds: 2,
    accounts: 250_000,
    slots: 500_000,
    blocks: 20_000,
    logBlocks: 50_000,
    storeShare: 0.01,
  },
} as const

/** Throws RangeError that names the flag at fault. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parse(args)
  if (positionals.length > 1) throw new RangeError(`one folder is enough, got ${positionals.join(' ')}`)
  const isCheck = values.check
  const mode = values.quick ? modes.quick : isCheck ? modes.check : modes.whole
  const positive = (flag: string, text: string | undefined, fallback: number): number => {
    if (text === undefined) return fallback
    const value = Number(text)
    if (!(value > 0 && value < 1e9))
      throw new RangeError(`--${flag}: expected a positive number, got ${text}`)
    return value
  }
  const whole = (flag: string, text: string | undefined, fallback: number): number => {
    const value = positive(flag, text, fallback)
    if (!Number.isInteger(value)) throw new RangeError(`--${flag}: expected a whole number, got ${text}`)
    return value
  }
  if (values.against !== undefined && values.against !== 'anvil') {
    throw new RangeError(`--against: expected anvil, got ${values.against}`)
  }
  if (values.url !== undefined && !/^https?:\/\/./.test(values.url)) {
    throw new RangeError(`--url: expected an http URL, got ${values.url}`)
  }
  if (values.report !== undefined && !isCheck) throw new RangeError('--report: only with --check')
  const { loader } = values
  if (loader !== 'own' && loader !== 'autocannon') {
    throw new RangeError(`--loader: expected own or autocannon, got ${loader}`)
  }
  // autocannon counts time in whole seconds.
  const seconds = positive(
    'seconds',
    values.seconds,
    loader === 'autocannon' ? Math.ceil(mode.seconds) : mode.seconds,
  )
  return {
    isHelp: values.help,
    isList: values.list,
    isCheck,
    isQuick: values.quick || isCheck,
    withAnvil: values.against === 'anvil' || isCheck,
    url: values.url,
    only: values.only?.split(',').filter((name) => name !== '') ?? [],
    attacks: values.attack?.split(',').filter((name) => name !== '') ?? [],
    rounds: whole('rounds', values.rounds, mode.rounds),
    seconds,
    latencyRounds: mode.latencyRounds,
    latencySeconds: mode.latencySeconds,
    warmUpSecondsMax: mode.warmUpSecondsMax,
    connections: whole('connections', values.connections, 64),
    accounts: whole('accounts', values.accounts, mode.accounts),
    largeSlots: whole('slots', values.slots, mode.slots),
    blocks: mode.blocks,
    logBlocks: whole('log-blocks', values['log-blocks'], mode.logBlocks),
    storeShare: positive('store-share', values['store-share'], mode.storeShare),
    loader,
    limits: Object.fromEntries(values.limit.map(parseLimit)),
    profileFolder: values['cpu-prof'],
    out: values.out,
    publish: values.publish,
    report: values.report,
    gasFolder: positionals[0] ?? (existsSync(usualGasFolder) ? usualGasFolder : undefined),
  }
}

/** Beside the repository. */
const usualGasFolder = join(packageRoot(), '../shared/gas-benchmarks')

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        against: { type: 'string' },
        url: { type: 'string' },
        only: { type: 'string' },
        attack: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        connections: { type: 'string' },
        accounts: { type: 'string' },
        slots: { type: 'string' },
        'log-blocks': { type: 'string' },
        'store-share': { type: 'string' },
        loader: { type: 'string', default: 'own' },
        limit: { type: 'string', multiple: true, default: [] },
        'cpu-prof': { type: 'string' },
        out: { type: 'string' },
        publish: { type: 'string' },
        report: { type: 'string' },
      },
    })
  } catch (error) {
    throw new RangeError((error as Error).message)
  }
}

function parseLimit(text: string): [name: string, value: number] {
  const [, name, value] = /^(\w+)=(\d+)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw new RangeError(`--limit: expected NAME=N, got ${text}`)
  return [name, Number(value)]
}
