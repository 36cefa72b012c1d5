/**
 * Converts a chainspec, the format of Nethermind, into a geth-format genesis. A chainspec sets each EIP separately. It
 * is accepted if it is unambiguous: a chain that begins after the Merge, with the EIPs of each fork at one time.
 */

import { forksUpToLondon, isRecord, toBigInteger, toInteger } from '../../../data/chain/forks.js'
import { networkOf } from '../../../data/chain/knownNetworks.js'

type Json = Record<string, unknown>

/** Members of `params` that must all be 0: the rules of every fork before the Merge. */
const transitions = [150, 155, 160, '161abc', '161d', 140, 211, 214, 658, 145, 1014, 1052]
  .concat(['1283Disable', 152, 1108, 1344, 1884, 2028, 2200, 2565, 2929, 2930, 1559, 3198, 3529, 3541])
  .map((eip) => `eip${eip}Transition`)

/** The EIPs of each later fork, which must have one time. EIPs that not all chainspecs name come second. */
const forks: Readonly<Record<string, readonly [always: readonly number[], maybe: readonly number[]]>> = {
  shanghai: [[3651, 3855, 3860, 4895], []],
  cancun: [[1153, 4788, 4844, 5656, 6780], []],
  prague: [[2537, 2935, 6110, 7002, 7251, 7623, 7702], [7685]],
  osaka: [[7594, 7823, 7825, 7883, 7918, 7934, 7939, 7951], []],
  amsterdam: [
    [7708, 7778, 7843, 7928, 7954, 8024, 8037],
    [2780, 7976, 7981, 7997, 8038, 8246, 8282],
  ],
}

/** Members that set no rule here: Petersburg removes the first, others follow from forks, and one is for peers. */
const silent =
  /^(eip1283Transition|eip158Transition|maxCodeSizeTransition|maxCodeSizeTransitionTimestamp|mergeForkIdTransition)$/i

/** Whether this is a chainspec and not a genesis. */
export function isChainspec(json: Json): boolean {
  return json.config === undefined && isRecord(json.params)
}

/** The same chain as a geth-format genesis. Throws RangeError that names an ambiguous or unsupported member. */
export function genesisOfChainspec(json: Json): Json {
  const engines = Object.keys(isRecord(json.engine) ? json.engine : {})
  if (engines.length !== 1 || engines[0] !== 'Ethash') {
    const why = `engine: expected Ethash, got ${engines.join(', ') || 'none'}`
    const { chainID, networkID } = json.params as Json
    const known = networkOf(toInteger(chainID ?? networkID ?? 0, 'params.chainID'))
    if (known === undefined) throw new RangeError(why)
    throw new RangeError(
      `${why}; blocks of ${known.name} are not executed here, but a gateway serves it: "kind": "gateway" with "upstreams", and no genesis`,
    )
  }
  const params = json.params as Json
  const genesis = isRecord(json.genesis) ? json.genesis : {}
  const seal = ((genesis.seal as Json | undefined)?.ethereum ?? {}) as Json
  const { terminalTotalDifficulty: ttd = null } = params
  const isMerged =
    ttd !== null &&
    toBigInteger(ttd, 'params.terminalTotalDifficulty') <=
      toBigInteger(genesis.difficulty ?? 0, 'genesis.difficulty')
  const late = transitions.find((name) => params[name] === undefined || toInteger(params[name], name) !== 0)
  if (!isMerged || late !== undefined) {
    const why = isMerged
      ? `params.${late} is ${params[late as string] ?? 'missing'}`
      : 'it was mined at first'
    throw new RangeError(
      `a chainspec of a chain that does not begin after the Merge (${why}); take the genesis.json that go-ethereum or Besu has`,
    )
  }
  const times = forkTimes(params)
  const { seal: _, author, extraData, ...header } = genesis
  return {
    ...header,
    ...seal,
    ...(author === undefined ? {} : { coinbase: author }),
    extraData: extraData === undefined || extraData === '' ? '0x' : extraData,
    config: {
      chainId: params.chainID ?? params.networkID,
      ...(params.networkID === undefined ? {} : { networkId: params.networkID }),
      ...forksUpToLondon,
      terminalTotalDifficulty: ttd,
      ...(params.depositContractAddress === undefined
        ? {}
        : { depositContractAddress: params.depositContractAddress }),
      ...withBlobs(params.blobSchedule, times),
    },
    alloc: accounts(json.accounts),
  }
}

/** Start time of each fork, in seconds. */
function forkTimes(params: Json): Map<string, number> {
  const known = new Set(transitions)
  const times = new Map<string, number>()
  for (const [fork, [always, maybe]] of Object.entries(forks)) {
    const [first, ...others] = [...always, ...maybe].map((eip) => `eip${eip}TransitionTimestamp`) as [string]
    for (const name of [first, ...others]) known.add(name)
    const required = [first, ...others].slice(0, always.length)
    const isSet = [first, ...others].some((name) => params[name] !== undefined)
    if (!isSet) continue
    const missing = required.find((name) => params[name] === undefined)
    if (missing !== undefined)
      throw new RangeError(`params.${missing} is missing, other EIPs of ${fork} are set`)
    const time = toInteger(params[first], `params.${first}`)
    const other = others.find((name) => params[name] !== undefined && toInteger(params[name], name) !== time)
    if (other !== undefined) {
      throw new RangeError(`params.${other} differs from params.${first}; the EIPs of ${fork} have one time`)
    }
    times.set(fork, time)
  }
  for (const name of Object.keys(params)) {
    if (/Transition(Timestamp)?$/.test(name) && !known.has(name) && !silent.test(name)) {
      throw new RangeError(`params.${name} is not supported`)
    }
  }
  return times
}

/** Fork times, and blob parameters by fork. Parameters at other times make BPO forks. */
function withBlobs(schedule: unknown, times: Map<string, number>): Json {
  const blobSchedule: Json = {}
  let bpoCount = 0
  const entries = (Array.isArray(schedule) ? schedule : []).filter(isRecord)
  const timed = entries.map((entry) => ({
    entry,
    time: toInteger(entry.timestamp, 'blobSchedule.timestamp'),
  }))
  for (const { entry, time } of timed.sort((a, b) => a.time - b.time)) {
    const named = [...times].filter(([, at]) => at === time).map(([fork]) => fork)
    // Forks with the same time have one set of parameters, under the last of them.
    const fork = named.pop() ?? `bpo${++bpoCount}`
    times.set(fork, time)
    const [target, max, fraction] = ['target', 'max', 'baseFeeUpdateFraction'].map((member) =>
      toInteger(entry[member], `blobSchedule.${member}`),
    )
    blobSchedule[fork] = { target, max, baseFeeUpdateFraction: fraction }
  }
  const members = [...times].map(([fork, time]) => [`${fork}Time`, time])
  return { ...Object.fromEntries(members), ...(entries.length === 0 ? {} : { blobSchedule }) }
}

function accounts(json: unknown): Json {
  if (!isRecord(json)) throw new RangeError('"accounts" is missing')
  const entries = Object.entries(json).map(([address, entry]): [string, Json] => {
    const account: Json = isRecord(entry) ? entry : {}
    if (Object.hasOwn(account, 'constructor')) {
      throw new RangeError(`accounts.${address}.constructor is not supported`)
    }
    const members = ['balance', 'nonce', 'code', 'storage'].filter((name) => account[name] !== undefined)
    return [address, Object.fromEntries(members.map((name) => [name, account[name]]))]
  })
  // Entries that only describe a precompiled contract are not accounts.
  return Object.fromEntries(entries.filter(([, members]) => Object.keys(members).length > 0))
}
