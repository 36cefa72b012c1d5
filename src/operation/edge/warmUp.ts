/**
 * The warm-up of a server before it listens: it calls methods over its own routes. So V8 has compiled the code for the
 * first requests of users. V8 compiles by function object, so calls to another server of the same code would not help.
 * Owns how long and in which order it asks; `warmUpQuestions.ts` owns the calls.
 *
 * A gateway, and a fork of another chain, fetch missing data. The warm-up asks them for constants alone, so it sends no
 * question to another node.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout } from '../../primitives/timers.js'
import type { HttpServer } from '../../serving/transport/http.js'
import { LoopbackClient } from './loopbackClient.js'
import type { OpenNetwork } from './openNetwork.js'
import { chainQuestions, constantQuestions } from './warmUpQuestions.js'

export interface WarmUpOptions {
  readonly server: HttpServer
  readonly isSecure: boolean
  readonly networks: readonly OpenNetwork[]
  /** CPU time of the process for each listening thread. */
  readonly cpuMsMax: number
  /** Listening threads, which warm up at the same time. */
  readonly edges: number
  /** Removes all stored answers, so that the next round reads rows again. */
  readonly forgetAnswers: () => void
}

/** Connections, each with one request at a time: the event loop handles several at once, as under load. */
const connectionsMax = 8

/**
 * Limit of the real time, as a multiple of the CPU time. On a machine with less than half of a free core, a longer
 * start harms more than slow first requests.
 */
const timesMax = 2

/** Answers after which more would change little: a thousand of each method. */
const answersMax = 16_000

/** One in this many questions is repeated, so that stored answers are looked up and found, too. */
const repeatedOneIn = 8
/** An answer is stored when its question comes for the second time, and found at the third. */
const repetitions = 2

interface Question {
  readonly path: string
  readonly body: string
}

/** Resolves to the number of answers. Rejects if the server cannot listen on the loopback address, or ends a connection. */
export async function warmUp(options: WarmUpOptions): Promise<number> {
  const { server, isSecure, networks, forgetAnswers } = options
  const limitMs = options.cpuMsMax * timesMax
  const isOver = budgetOf(options, limitMs)
  let clients: readonly LoopbackClient[] = []
  const countAnswers = () => clients.reduce((sum, { answers }) => sum + answers, 0)
  await server.serveAlone(async ({ host, port, key }) => {
    clients = Array.from({ length: connectionsMax }, () => new LoopbackClient(host, port, isSecure))
    const closeAll = () => {
      for (const client of clients) client.close()
    }
    // No answer delays the start for longer.
    const late = setTimeout(closeAll, limitMs)
    try {
      const lists: Question[][] = []
      for (const network of networks) lists.push(await answeredBy(network, clients, key, isOver))
      const questions = lists.flat()
      while (questions.length > 0 && countAnswers() < answersMax && !isOver()) {
        forgetAnswers()
        await askAll(clients, questions, isOver)
      }
    } catch (error) {
      if (!isOver()) throw error
    } finally {
      clearTimeout(late)
      closeAll()
    }
  })
  return countAnswers()
}

/** Whether the time or the CPU time is used up. */
function budgetOf({ cpuMsMax, edges }: WarmUpOptions, limitMs: number): () => boolean {
  const startedAtMs = performance.now()
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return performance.now() - startedAtMs >= limitMs || (user + system) / 1_000 >= cpuMsMax * edges
  }
}

/** Questions that the network answers without an error. */
async function answeredBy(
  network: OpenNetwork,
  clients: readonly LoopbackClient[],
  key: string,
  isOver: () => boolean,
): Promise<Question[]> {
  if (network.opening !== undefined) return []
  const path = `/${network.name}/v3/${key}`
  const [first] = clients as [LoopbackClient]
  const bodies =
    network.fetchMissing === undefined
      ? await chainQuestions((body) => first.ask(path, body), isOver)
      : constantQuestions
  const answered: Question[] = []
  const questions = bodies.map((body) => ({ path, body }))
  await askAll(clients, questions, isOver, (question, answer) => {
    if (!answer.includes('"error":')) answered.push(question)
  })
  return answered
}

async function askAll(
  clients: readonly LoopbackClient[],
  questions: readonly Question[],
  isOver: () => boolean,
  onAnswer?: (question: Question, answer: Buffer) => void,
): Promise<void> {
  let next = 0
  const askOn = async (client: LoopbackClient) => {
    while (next < questions.length && !isOver()) {
      const at = next++
      const question = questions[at] as Question
      const times = at % repeatedOneIn === 0 ? 1 + repetitions : 1
      for (let time = 1; time < times; time++) await client.ask(question.path, question.body)
      const answer = await client.ask(question.path, question.body)
      onAnswer?.(question, answer)
    }
  }
  await Promise.all(clients.map(askOn))
}
