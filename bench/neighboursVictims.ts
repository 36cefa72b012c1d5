/**
 * Well-behaved callers, each with a key and connections of its own: cached reads and new proofs, asked when they are
 * due whatever the answers do, and every answer checked. Owns what is asked and what counts as right.
 */
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { type ProofAnswer, verifyAnswer } from '../test/proofOracle.js'
import { addressOf, headStateRoot, slots, word } from './demoFacts.js'
import { answerKind, failureKind, lookedAtBytes, Tally } from './neighboursTally.js'
import type { Told } from './outcome.js'
import { rpc } from './rpc.js'

/** Of each victim, a second. */
export const readsPerSecond = 50
export const proofsPerSecond = 5

/** Proofs of one victim that may be under way; its reads have one connection, as a client that waits has. */
const proofConnections = 5
/** More than the server may take for a request. */
const answerMsMax = 35_000

const tide = addressOf('Tide')
const { address, slot } = slots[0] as (typeof slots)[number]
const readBody = rpc('eth_getStorageAt', [address, slot, 'latest'])

/** All questions of one kind, of all victims. */
export interface Heard {
  /** Of every question, from when it was due to the end of its answer or its failure, ms. */
  readonly latencies: readonly number[]
  /** How long after it was due each question was sent, ms. */
  readonly lateness: readonly number[]
  /** Of the questions without a right answer, what came instead. */
  readonly failures: Told
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
  /** Throws where the answer, a whole body, is not right. */
  check(answer: string): void
}

export class Victims {
  readonly #victims: readonly Victim[]
  /** Proofs are of what no run has asked before. */
  #serial = Date.now() * 1_000
  #read: Question | undefined

  /** URLs with a key each. */
  constructor(urls: readonly string[]) {
    this.#victims = urls.map((url) => ({
      url,
      reads: new Agent({ keepAlive: true, maxSockets: 1 }),
      // In turn, so that none is idle for so long that the server closes it.
      proofs: new Agent({ keepAlive: true, maxSockets: proofConnections, scheduling: 'fifo' }),
    }))
  }

  /** Learns the slot's value by a proof. Throws where the server does not prove it, or reads another one. */
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

  /** All victims ask for so long; resolves once everything is answered or given up. */
  async ask(seconds: number): Promise<VictimsHeard> {
    const read = this.#read
    if (read === undefined) throw new Error('the right answer is not known')
    const [reads, proofs] = await Promise.all([
      this.#askAtRate('reads', readsPerSecond, seconds, () => read),
      this.#askAtRate('proofs', proofsPerSecond, seconds, () => this.#newProof()),
    ])
    return { reads, proofs }
  }

  /** Bodies of what victims ask, a read and a proof in turn. */
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

  /** The victims' questions are due in turn, at even distances. */
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
      // The core is shared with attackers, so it is not waited on in a loop; a timer may be a millisecond late.
      const waitMs = dueAtMs - performance.now()
      if (waitMs > 0) await setTimeout(waitMs)
      exchanges.push(exchange(this.#victims[n % this.#victims.length] as Victim, dueAtMs))
    }
    await Promise.all(exchanges)
    // Not before all are there: what a proof takes to check would make questions late.
    for (const [{ check }, answer] of answers) {
      try {
        check(answer)
      } catch (error) {
        failures.add(failureKind(error))
      }
    }
    return { latencies, lateness, failures: failures.counts() }
  }

  /** In turn two slots that were never asked for beside one that is known, and an account that is not there. */
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

/** The body of an answer. Rejects for every status but 200 and where none comes. */
function ask(url: string, agent: Agent, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const exchange = request(url, { agent, method: 'POST', headers }, (response) => {
      let answer = ''
      response.setEncoding('utf8').on('data', (text) => {
        answer += text
      })
      response.on('end', () => {
        if (response.statusCode === 200) resolve(answer)
        else reject(new Error(`${response.statusCode} ${answerKind(answer.slice(0, lookedAtBytes))}`))
      })
      response.on('error', reject)
    })
    exchange.on('error', reject)
    const giveUp = globalThis.setTimeout(() => exchange.destroy(new Error('no answer')), answerMsMax)
    exchange.on('close', () => clearTimeout(giveUp))
    exchange.end(body)
  })
}
