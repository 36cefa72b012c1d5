/** The command line of the benchmarks. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../src/primitives/packageRoot.js'

/**
 * Settings of a whole run, a quick one and a check. Many short rounds are more reliable than few long ones. A check has
 * shorter rounds, and smaller networks: ten minutes for the run and five more to make the networks.
 */
const modes = {
  whole: {
    // A store of 10,000,000 slots is mapped, and code compiled, in 40 s; a busy machine may never become steady.
    rounds: 9,
    seconds: 1,
    warmUpSecondsMax: 60,
    latencyRounds: 3,
    latencySeconds: 4,
    accounts: 1_000_000,
    slots: 1_000_000,
    blocks: 50_000,
    logBlocks: 1_000_000,
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
  },
  check: {
    rounds: 9,
    seconds: 0.2,
    warmUpSecondsMax: 1,
    latencyRounds: 1,
    latencySeconds: 2,
    accounts: 250_000,
    slots: 500_000,
    blocks: 20_000,
    logBlocks: 50_000,
  },
} as const

export interface BenchOptions {
  readonly isHelp: boolean
  /** Whether to print the chosen measurements, without a run. */
  readonly isList: boolean
  readonly isCheck: boolean
  /** Whether to prefer a short run to an exact one. */
  readonly isQuick: boolean
  readonly withAnvil: boolean
  /** Whether scenarios beside go-ethereum are measured. */
  readonly withGeth: boolean
  /** Endpoint to measure instead of starting a server. */
  readonly url: string | undefined
  /** Parts of scenario names; empty for all. */
  readonly only: readonly string[]
  /** Attacks of the scenario `neighbours` by name; empty for all. */
  readonly attacks: readonly string[]
  readonly rounds: number
  /** Length of a round. */
  readonly seconds: number
  /** Rounds at a fixed rate, and the length of each: two or more seconds, an integer. */
  readonly latencyRounds: number
  readonly latencySeconds: number
  /** Longest warm-up; it ends earlier when nothing improves. */
  readonly warmUpSecondsMax: number
  readonly connections: number
  readonly accounts: number
  readonly largeSlots: number
  readonly blocks: number
  /** Blocks of the chain for log searches. */
  readonly logBlocks: number
  /** Members of the server's configuration under `limits`. */
  readonly limits: Readonly<Record<string, number>>
  readonly profileFolder: string | undefined
  /** Folder of the reports. */
  readonly out: string | undefined
  /** A report to write into bench/README.md, without a run. */
  readonly publish: string | undefined
  /** A report to compare with the targets, without a run. */
  readonly report: string | undefined
  /** Another checkout whose build is measured in turns with this one. */
  readonly base: string | undefined
  /** File to which a summary in Markdown is appended. */
  readonly summary: string | undefined
  /** Folder of the gas benchmarks; undefined if there is none. */
  readonly gasFolder: string | undefined
}

/** Time until code is compiled, limited by the longest warm-up. */
export const warmUpSecondsOf = ({ warmUpSecondsMax }: BenchOptions) => Math.min(warmUpSecondsMax, 6)

/**
 * Warm-up of anvil and go-ethereum, which are compiled ahead: one piece that opens all connections. Nine rounds have a
 * median, which a slow first one does not move.
 */
export const compiledWarmUpSeconds = 0.25

export const helpText = `Measures Tidegate beside a bare uWebSockets.js server that answers the same bytes.

  npm run bench -- [flags] [GAS]   everything, in an hour with anvil: a table here, JSON under bench/results
  npm run bench:check              a short run beside anvil and go-ethereum of what has targets, in less than 10 minutes on two cores
                                   once its networks are made, which takes at most 5 more; exits 1 where it falls
                                   short of bench/targets.json

  --against anvil                  also the same questions to anvil holding the same chain; answers are compared first
  --against geth                   also scenarios beside go-ethereum on another chain, by CPU; it is built by go once and
                                   kept, or GETH names the program; anvil,geth takes both
  --url URL                        measure this endpoint, holding the demo chain, instead of a server of our own;
                                   what needs other networks, or a server without caches, is left out
  --only NAME[,NAME]               scenarios whose name contains one of these; neighbours is what attackers do to
                                   others, prices what a unit of a key's allowance buys, store what a state takes on
                                   disk, gas how slow the slowest gas is by the files in the folder GAS
                                   (../shared/gas-benchmarks); it fails below 10 Mgas a second of CPU
  --attack NAME[,NAME]             of neighbours, these attacks only
  --list                           no run: the scenarios that these flags choose, with the seconds that each may take
  --quick                          short rounds and small networks: a first look, not a measurement
  --rounds N, --seconds N          rounds of each server (9), and how long one takes (1)
  --connections N                  at the same time (64)
  --accounts N                     accounts of the network that proofs are of (1,000,000)
  --slots N                        slots of the largest network read from (1,000,000); 100,000,000 take 15 GB
                                   to make, once
  --log-blocks N                   blocks of the chain that logs are searched in (1,000,000; fewer with --quick and in a
                                   check); a million take five minutes to make, once
  --limit NAME=N                   a member of the server's limits, for example poolNiceness=0; may be repeated
  --cpu-prof DIR                   write CPU profiles of the server's threads into this folder; they cost it
                                   some of its speed
  --out DIR                        where the reports go
  --publish FILE                   no run: write this report into bench/README.md
  --base DIR                       another checkout, with its program built: scenarios over HTTP are measured in turns with
                                   it, and the run ends with a table in Markdown of what moved
  --summary FILE                   append that table, and in a check the verdict, to this file
  --report FILE                    with --check, no run: whether this report reaches the targets
  --help                           this text

Networks are made once, as many at a time as there are cores, and kept in TIDEGATE_BENCH_CACHE, or else in
tidegate-bench under the user's cache folder. Ctrl-C and SIGTERM end a run at once; what is measured by then is
written, and the exit status is that of it.
`

/** A folder beside the repository. */
const usualGasFolder = join(packageRoot(), '../shared/gas-benchmarks')

/** Throws RangeError that names the flag at fault. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parse(args)
  if (positionals.length > 1) throw new RangeError(`one folder is enough, got ${positionals.join(' ')}`)
  const mode = values.quick ? modes.quick : values.check ? modes.check : modes.whole
  const number = (flag: NumberFlag, fallback: number, isWhole = true): number => {
    const value = Number(values[flag] ?? fallback)
    if (value > 0 && value < 1e9 && (!isWhole || Number.isInteger(value))) return value
    throw new RangeError(
      `--${flag}: expected a positive ${isWhole ? 'whole ' : ''}number, got ${values[flag]}`,
    )
  }
  const names = (text = '') => text.split(',').filter((name) => name !== '')
  const against = names(values.against)
  if (against.some((name) => name !== 'anvil' && name !== 'geth')) {
    throw new RangeError(`--against: expected anvil, geth or both, got ${values.against}`)
  }
  if (values.url !== undefined && !/^http:\/\/./.test(values.url)) {
    throw new RangeError(`--url: expected an http URL, got ${values.url}`)
  }
  if (values.base !== undefined && values.url !== undefined) throw new RangeError('--base: not with --url')
  if (values.report !== undefined && !values.check) throw new RangeError('--report: only with --check')
  return {
    isHelp: values.help,
    isList: values.list,
    isCheck: values.check,
    isQuick: values.quick || values.check,
    withAnvil: against.includes('anvil') || values.check,
    withGeth: (against.includes('geth') || values.check) && values.url === undefined,
    url: values.url,
    only: names(values.only),
    attacks: names(values.attack),
    ...mode,
    rounds: number('rounds', mode.rounds),
    seconds: number('seconds', mode.seconds, false),
    connections: number('connections', 64),
    accounts: number('accounts', mode.accounts),
    largeSlots: number('slots', mode.slots),
    logBlocks: number('log-blocks', mode.logBlocks),
    limits: Object.fromEntries(values.limit.map(parseLimit)),
    profileFolder: values['cpu-prof'],
    out: values.out,
    publish: values.publish,
    report: values.report,
    base: values.base,
    summary: values.summary,
    gasFolder: positionals[0] ?? (existsSync(usualGasFolder) ? usualGasFolder : undefined),
  }
}

type NumberFlag = 'rounds' | 'seconds' | 'connections' | 'accounts' | 'slots' | 'log-blocks'

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: flag,
        list: flag,
        check: flag,
        quick: flag,
        against: text,
        url: text,
        only: text,
        attack: text,
        rounds: text,
        seconds: text,
        connections: text,
        accounts: text,
        slots: text,
        'log-blocks': text,
        'cpu-prof': text,
        out: text,
        publish: text,
        report: text,
        base: text,
        summary: text,
        limit: { type: 'string', multiple: true, default: [] },
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
