/**
 * Well-behaved clients, each with its own key and connections: cached reads and new proofs, sent at fixed times
 * regardless of answers. Every answer is checked. Owns the requests and their checks.
 */
import { Agent } from 'node:http'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { type ProofAnswer, verifyAnswer } from '../../test/rpc/proofOracle.js'
import { addressOf, headStateRoot, slots, word } from '../data/demoFacts.js'
import { rpc } from '../load/rpc.js'
import { exchange } from './exchange.js'
import { answerKind, failureKind, lookedAtBytes, type Reported, Tally } from './tally.js'

/** Rates per victim and second. */
export const readsPerSecond = 50
export const proofsPerSecond = 5

/** Concurrent proofs of one victim; its reads use one connection. */
const proofConnections = 5
/** Longer than the server's time limit of a request. */
const answerMsMax = 35_000

const tide = addressOf('Tide')
const { address, slot } = slots[0] as (typeof slots)[number]
const readBody = rpc('eth_getStorageAt', [address, slot, 'latest'])

/** All requests of one kind, of all victims. */
export interface Heard {
  /** For every request, ms from its due time to the end of its answer or its failure. */
  readonly latencies: readonly number[]
  /** Delay of each request's sending after its due time, ms. */
  readonly lateness: readonly number[]
  /** Wrong answers and errors, counted. */
  readonly failures: Reported
}

export interface VictimsHeard {
  readonly reads: Heard
  readonly proofs: Heard
}

interface Victim {
  readonly url: string
  readonly reads: Agent
  readonly proofs: Agent
}

interface Question {
  readonly body: string
  /** Throws if the answer, a whole body, is wrong. */
  check(answer: string): void
}

export class Victims {
  readonly #victims: readonly Victim[]
  /** Makes proofs that no run has requested before. */
  #serial = Date.now() * 1_000
  #read: Question | undefined

  /** URLs, each with its own key. */
  constructor(urls: readonly string[]) {
    this.#victims = urls.map((url) => ({
      url,
      reads: new Agent({ keepAlive: true, maxSockets: 1 }),
      // In rotation, so that no connection is idle long enough for the server to close it.
      proofs: new Agent({ keepAlive: true, maxSockets: proofConnections, scheduling: 'fifo' }),
    }))
  }

  /** Learns the slot's value from a verified proof. Rejects if the proof is wrong, or a read gives another value. */
  async learn(): Promise<void> {
    const { url, proofs } = this.#victims[0] as Victim
    const answer = await ask(url, proofs, rpc('eth_getProof', [address, [slot], 'latest']))
    const [value] = verifyAnswer(headStateRoot, resultOf(answer) as ProofAnswer)
    const right = JSON.stringify({ jsonrpc: '2.0', id: 1, result: value })
    this.#read = {
      body: readBody,
      check(answer) {
        if (answer !== right) throw new Error('wrong answer')
      },
    }
    this.#read.check(await ask(url, proofs, readBody))
  }

  /** Runs all victims for `seconds`; resolves once everything is answered or timed out. */
  async ask(seconds: number): Promise<VictimsHeard> {
    const read = this.#read
    if (read === undefined) throw new Error('the right answer is not known')
    const [reads, proofs] = await Promise.all([
      this.#askAtRate('reads', readsPerSecond, seconds, () => read),
      this.#askAtRate('proofs', proofsPerSecond, seconds, () => this.#newProof()),
    ])
    return { reads, proofs }
  }

  /** Bodies of the victims' requests, alternately a read and a proof. */
  questions(): () => string {
    let n = 0
    return () => (n++ % 2 === 0 ? readBody : this.#newProof().body)
  }

  close(): void {
    for (const { reads, proofs } of this.#victims) {
      reads.destroy()
      proofs.destroy()
    }
  }

  /** The victims' requests are due in rotation, at equal intervals. */
  async #askAtRate(
    kind: 'reads' | 'proofs',
    rate: number,
    seconds: number,
    next: () => Question,
  ): Promise<Heard> {
    const total = Math.floor(rate * seconds) * this.#victims.length
    const [latencies, lateness, failures]: [number[], number[], Tally] = [[], [], new Tally()]
    const answers: (readonly [Question, string])[] = []
    const startedAtMs = performance.now()
    const exchange = async (victim: Victim, dueAtMs: number) => {
      const question = next()
      lateness.push(performance.now() - dueAtMs)
      try {
        answers.push([question, await ask(victim.url, victim[kind], question.body)])
      } catch (error) {
        failures.add(failureKind(error))
      }
      latencies.push(performance.now() - dueAtMs)
    }
    const exchanges: Promise<void>[] = []
    for (let n = 0; n < total; n++) {
      const dueAtMs = startedAtMs + (n * seconds * 1_000) / total
      // No busy waiting, because the core is shared with attackers; a timer may be 1 ms late.
      const waitMs = dueAtMs - performance.now()
      if (waitMs > 0) await setTimeout(waitMs)
      exchanges.push(exchange(this.#victims[n % this.#victims.length] as Victim, dueAtMs))
    }
    await Promise.all(exchanges)
    // Checked only at the end, because checking proofs would delay requests.
    for (const [{ check }, answer] of answers) {
      try {
        check(answer)
      } catch (error) {
        failures.add(failureKind(error))
      }
    }
    return { latencies, lateness, failures: failures.counts() }
  }

  /** Alternates between a proof of two new slots and the known one, and of an account that does not exist. */
  #newProof(): Question {
    const serial = this.#serial++
    const [account, keys] =
      serial % 2 === 0
        ? [tide, [word(serial), word(serial + 2 ** 52), word(2)]]
        : [`0x${serial.toString(16).padStart(40, '0')}`, []]
    return {
      body: rpc('eth_getProof', [account, keys, 'latest']),
      check(answer) {
        const proof = resultOf(answer) as ProofAnswer
        const isOfQuestion =
          proof.address === account && proof.storageProof.every(({ key }, at) => key === keys[at])
        if (!isOfQuestion || proof.storageProof.length !== keys.length) throw new Error('wrong answer')
        verifyAnswer(headStateRoot, proof)
      },
    }
  }
}

function resultOf(answer: string): unknown {
  const { result } = JSON.parse(answer) as { result?: unknown }
  if (result === undefined || result === null) throw new Error(answerKind(answer))
  return result
}

/** The body of an answer. Rejects for every status except 200, and for a missing answer. */
async function ask(url: string, agent: Agent, body: string): Promise<string> {
  const { status, text } = await exchange(url, agent, body, Number.POSITIVE_INFINITY, answerMsMax)
  if (status !== 200) throw new Error(`${status} ${answerKind(text.slice(0, lookedAtBytes))}`)
  return text
}
