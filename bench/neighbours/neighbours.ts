/**
 * Tests whether one client can make a server slow or wrong for others. Five victims with a key each request cached
 * reads and new proofs. They do so first alone, then beside one attack after the other, then beside all attacks. A
 * short run has only the last. The server has default limits. The result is the p99 of the reads in the worst phase,
 * compared with the idle phase, and the number of failed requests of victims.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { madeNetwork } from '../data/madeChain.js'
import { targetOf, warmUp, withConnections } from '../load/httpLoader.js'
import type { RunContext, SpecialScenario } from '../scenarios/specialScenario.js'
import { endWithThisProcess, type Memory, messageOf } from '../servers/serverProcess.js'
import { startTidegate, type TidegateProcess } from '../servers/tidegateServer.js'
import { attacks } from './attacks.js'
import type { Attack } from './attackTools.js'
import { outcomeOf, type Phase, phaseOf, servedOf } from './phases.js'
import { type Reported, Tally } from './tally.js'
import { Victims } from './victims.js'

const victimCount = 5
/** Shortest phase: an execution may take 5 s, and its caller must get the error within the attack. */
const phaseSecondsMin = 6
const memorySampleMs = 50
/** A server is calm if reads take no longer than this, or than the longest one while idle. */
const calmMs = 50
/** Length of each check whether the server is calm, and the limit for all checks together. */
const lookSeconds = 0.2
const recoverySecondsMax = 60
/** Time for an attacker to start, and to report after its end, on a shared core. */
const attackerMsMax = 60_000

export const neighbours: SpecialScenario = {
  name: 'neighbours',
  title: 'reads and proofs beside attackers',
  seconds: ({ isQuick }) => 15 + 8 * (isQuick ? 3 : attacks.length + 2),
  async run(context) {
    const seconds = Math.max(phaseSecondsMin, context.settings.rounds * context.settings.seconds)
    const stage = new Stage(context, seconds)
    try {
      await stage.open()
      const idle = await stage.play('idle', [])
      const attacked: Phase[] = []
      const { attacks: names, isQuick } = context.settings
      const chosen = chosenAttacks(names)
      // A short run only has time for all of them together, unless some are named.
      const apart = isQuick && names.length === 0 ? chosen.filter(({ isAlone }) => isAlone === true) : chosen
      for (const attack of apart) attacked.push(await stage.play(attack.title, [attack]))
      const together = chosen.filter(({ isAlone }) => isAlone !== true)
      if (together.length > 1) attacked.push(await stage.play('all at the same time', together))
      return outcomeOf([idle, ...attacked], victimCount, stage.memory())
    } finally {
      await stage.close()
    }
  },
}

/** A server, its victims, and the attackers of each phase. */
class Stage {
  #server: TidegateProcess | undefined
  #victims: Victims | undefined
  #idleLongestMs = 0
  readonly #context: RunContext
  readonly #seconds: number

  constructor(context: RunContext, seconds: number) {
    this.#context = context
    this.#seconds = seconds
  }

  /** Starts a server, in place of one that has ended. */
  async open(): Promise<void> {
    const { folder, settings, server: options, network } = this.#context
    const keyNames = [
      ...Array.from({ length: victimCount }, (_, at) => `victim ${at + 1}`),
      ...attacks.map(({ name }) => `attacker ${name}`),
    ]
    await this.close()
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const signer = publicKey.export({ type: 'spki', format: 'pem' }) as string
    const more = { ...options, keyNames, signer, moreNetworks: [madeNetwork(folder)] }
    const server = await startTidegate(folder, [await network('demo')], more)
    this.#server = server
    this.#victims = new Victims(server.keyedUrls.slice(0, victimCount))
    await this.#victims.learn()
    const next = this.#victims.questions()
    await withConnections(targetOf(server.keyedUrls[0] as string), settings.connections, (open) =>
      warmUp(open, settings.warmUpSecondsMax, next, () => server.pageFaults()),
    )
  }

  /** Runs a phase: the victims beside these attacks. */
  async play(title: string, together: readonly Attack[]): Promise<Phase> {
    if (this.#current.hasEnded()) await this.open()
    const server = this.#current
    const victims = this.#victims as Victims
    const attackers = await Promise.all(together.map((attack) => this.#startAttacker(attack)))
    let peakResidentBytes = server.memory().residentBytes
    const sampler = setInterval(() => {
      const { residentBytes } = server.memory()
      if (residentBytes !== undefined) peakResidentBytes = Math.max(peakResidentBytes ?? 0, residentBytes)
    }, memorySampleMs)
    try {
      const [heard, ...reports] = await Promise.all([
        victims.ask(this.#seconds),
        ...attackers.map((attacker) => attack(attacker, this.#seconds)),
      ])
      if (together.length === 0) this.#idleLongestMs = servedOf(heard.reads).longestMs
      const recoverySeconds = together.length === 0 ? 0 : await this.#recover()
      return phaseOf(title, heard, {
        peakResidentBytes,
        hasServerEnded: server.hasEnded(),
        recoverySeconds,
        reported: sumOf(reports),
      })
    } finally {
      clearInterval(sampler)
      for (const attacker of attackers) attacker.kill('SIGKILL')
    }
  }

  memory(): Memory {
    return this.#current.memory()
  }

  async close(): Promise<void> {
    this.#victims?.close()
    await this.#server?.stop()
  }

  get #current(): TidegateProcess {
    if (this.#server === undefined) throw new Error('there is no server')
    return this.#server
  }

  /** Resolves once the attacker is ready to begin. */
  async #startAttacker(attack: Attack): Promise<ChildProcess> {
    const program = fileURLToPath(new URL('./attacker.js', import.meta.url))
    const url = this.#current.keyedUrls[victimCount + attacks.indexOf(attack)] as string
    const attacker = endWithThisProcess(fork(program, [attack.name, url, this.#current.keyIds[0] as string]))
    await messageOf(attacker, 'an attacker', attackerMsMax)
    return attacker
  }

  /** Seconds until the server is calm; undefined if that takes too long, or the server has ended. */
  async #recover(): Promise<number | undefined> {
    const sinceMs = performance.now()
    const calm = Math.max(calmMs, this.#idleLongestMs)
    for (;;) {
      const seconds = (performance.now() - sinceMs) / 1_000
      if (seconds > recoverySecondsMax || this.#current.hasEnded()) return undefined
      const { reads, proofs } = await (this.#victims as Victims).ask(lookSeconds)
      const isCalm = [reads, proofs].every(
        ({ latencies, failures }) =>
          Object.keys(failures).length === 0 && latencies.every((latency) => latency <= calm),
      )
      if (isCalm) return seconds
    }
  }
}

/** The attacks with these names. Throws RangeError for an unknown name. */
function chosenAttacks(names: readonly string[]): readonly Attack[] {
  const unknown = names.find((name) => !attacks.some((attack) => attack.name === name))
  if (unknown !== undefined) {
    const known = attacks.map(({ name }) => name).join(', ')
    throw new RangeError(`--attack: expected one of ${known}, got ${unknown}`)
  }
  return names.length === 0 ? attacks : attacks.filter(({ name }) => names.includes(name))
}

/** Starts the attack; resolves to the counts of its answers and errors. */
async function attack(attacker: ChildProcess, seconds: number): Promise<Reported> {
  attacker.send(seconds * 1_000)
  return (await messageOf(attacker, 'an attacker', seconds * 1_000 + attackerMsMax)) as Reported
}

function sumOf(reports: readonly Reported[]): Reported {
  const tally = new Tally()
  for (const report of reports) for (const [what, count] of Object.entries(report)) tally.add(what, count)
  return tally.counts()
}
