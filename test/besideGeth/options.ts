/** The command line of `npm run beside-geth`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

export const help = `Compares Tidegate with a running go-ethereum, by questions to both.

  npm run -s beside-geth -- URL [--genesis FILE] [flags]   a Tidegate is started that follows the node at URL
  npm run -s beside-geth -- URL --ours URL [flags]         with a Tidegate that runs on the same chain
  npm run -s beside-geth -- --geth PROGRAM [flags]         both are started, on a chain that is invented by the seed
  npm run -s beside-geth -- --geth PROGRAM --engine STEPS  both get the same blocks and heads over the Engine API

  --geth PROGRAM   the geth to start, on free ports of 127.0.0.1, with a temporary folder
  --chain FOLDER   with --geth: a chain from genesis.json and chain.rlp (or chain.rlp.gz), such as data/devnet
  --ours URL       a running Tidegate, which is not started then
  --genesis FILE   the genesis of the chain of URL, where that node does not serve it (admin_nodeInfo, debug_accountRange)
  --engine STEPS   with --geth: so many steps of a consensus client, with valid and invalid blocks, branches and heads
  --seed N         which questions are asked, and which chain is invented; a new one unless given
  --calls N        calls, estimates, access lists, simulations and traces of calls; 300 unless given
  --blocks N       blocks of which everything is asked, chosen by the seed; 40 unless given
  --only METHODS   methods, with commas between them
  --shown N        differences of each method that are printed; 3 unless given
  --texts          count different texts of errors with the same code as differences
  --help           this text

The node should hold all states and names of accounts, and serve most methods:
geth --gcmode archive --state.scheme hash --cache.preimages --http --http.api admin,debug,eth,net,web3
Known differences are counted apart, each with its reason, which is a sentence of docs/correctness.md or docs/forks.md.
Exit status: 0 without an unknown difference, 1 with one, 2 where nothing could be compared.`

export interface Options {
  readonly url: string | undefined
  readonly geth: string | undefined
  /** Paths of a chain that both import. */
  readonly chain: { readonly genesis: string; readonly blocks: string } | undefined
  readonly ours: string | undefined
  readonly genesis: string | undefined
  /** Steps of a consensus client; undefined if reading methods are compared. */
  readonly engineSteps: number | undefined
  readonly seed: number
  readonly calls: number
  readonly blocks: number
  /** Methods that are asked; empty for all. */
  readonly only: readonly string[]
  readonly shown: number
  readonly comparesTexts: boolean
}

/** A command line that is not usable; its message is for the caller. */
export class OptionError extends Error {}

/** Undefined if help is requested. Throws {@link OptionError}. */
export function readOptions(words: readonly string[]): Options | undefined {
  const { values, positionals } = parse(words)
  if (values.help) return undefined
  const [url, ...others] = positionals
  if (others.length > 0) throw new OptionError(`one URL is expected, got also ${others.join(' ')}`)
  if ((url === undefined) === (values.geth === undefined)) {
    throw new OptionError('either the URL of a running geth or --geth PROGRAM is expected')
  }
  for (const each of [url, values.ours]) {
    if (each !== undefined && !URL.canParse(each)) throw new OptionError(`${each} is not a URL`)
  }
  if (values.chain !== undefined && values.geth === undefined) {
    throw new OptionError('--chain is for a geth that is started here (--geth)')
  }
  if (values.engine !== undefined && (values.geth === undefined || values.chain !== undefined)) {
    throw new OptionError('--engine is for a geth that is started here (--geth), without --chain')
  }
  if (values.ours !== undefined && url === undefined) {
    throw new OptionError('--ours is for a geth that runs already (URL)')
  }
  return {
    url,
    geth: existing(values.geth),
    chain: values.chain === undefined ? undefined : chainIn(values.chain),
    ours: values.ours,
    genesis: existing(values.genesis),
    engineSteps: values.engine === undefined ? undefined : integer('engine', values.engine, 0),
    seed: integer('seed', values.seed, Date.now() & 0x7fffffff),
    calls: integer('calls', values.calls, 300),
    blocks: integer('blocks', values.blocks, 40),
    only: values.only?.split(',') ?? [],
    shown: integer('shown', values.shown, 3),
    comparesTexts: values.texts,
  }
}

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const
const flags = {
  geth: text,
  chain: text,
  ours: text,
  genesis: text,
  engine: text,
  seed: text,
  calls: text,
  blocks: text,
  only: text,
  shown: text,
  texts: flag,
  help: flag,
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], allowPositionals: true, options: flags })
  } catch (error) {
    throw new OptionError((error as Error).message)
  }
}

function integer(name: string, value: string | undefined, otherwise: number): number {
  const number = value === undefined ? otherwise : Number(value)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new OptionError(`--${name}: expected a number from 0 on, got ${value}`)
}

function existing<P extends string | undefined>(path: P): P {
  if (path !== undefined && !existsSync(path)) throw new OptionError(`there is no ${path}`)
  return path
}

function chainIn(folder: string): { readonly genesis: string; readonly blocks: string } {
  const plain = join(folder, 'chain.rlp')
  return {
    genesis: existing(join(folder, 'genesis.json')),
    blocks: existsSync(plain) ? plain : existing(`${plain}.gz`),
  }
}
