/**
 * Calls of one key never change the answers of another key. A victim sends a fixed set of calls before, during and
 * after attacks. Attacks are of one kind or of all kinds, on every thread of the pool. Its answers stay the same, byte
 * for byte. Its subscriptions get each message once, in order. Its submissions to a rollup keep their statuses.
 *
 * `SEAL_SECONDS=60` makes each attack longer, `SEAL_LANES` stronger. `SEAL=scripts,calls` chooses attacks,
 * `SEAL_EDGES=2` starts two edges, SEED repeats a run.
 */
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { VictimStreams, VictimSubmissions } from '../../faults/sealedVictim.js'
import { type AttackKind, attackKinds, type SealingAttack } from '../../faults/sealingAttacker.js'
import { mergedConfig, testGenesis } from '../../ingest/chainMaker.js'
import { writeInto } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { methodTable } from '../../rpc/methodTable.js'
import { post } from '../../service/httpClient.js'
import { createKeys } from '../../service/keyedDemo.js'
import { copyDemo } from '../../service/servedDemo.js'
import { readRssBytes, reportsOf, type Service, startService } from '../../service/service.js'

const seconds = Number(process.env.SEAL_SECONDS ?? 1)
/** More than threads of the pool; an attack burns CPU time for as long as the victim's questions take. */
const lanes = Number(process.env.SEAL_LANES ?? 4)
const seed = Number(process.env.SEED ?? Date.now() & 0x7fffffff)
const chosen = (process.env.SEAL?.split(',') as AttackKind[] | undefined) ?? attackKinds

const edges = Number(process.env.SEAL_EDGES ?? 1)

const threads = 3
/** Calls of the victim at the same time: some wait for each thread. */
const victimLanes = threads * 2
/** At least one of each method; more where attacks are long. */
const questionsMax = process.env.SEAL_SECONDS === undefined ? 100 : 300
/** Highest resident memory of the process, for any calls. */
const rssBytesMax = 900 * 2 ** 20

/** Questions of every method that reads, as evenly as their examples allow. */
function fixedQuestions(): string[] {
  const left = Object.entries(methodTable).map(([method, { reads = [] }]) => ({ method, asked: [...reads] }))
  const questions: string[] = []
  while (questions.length < questionsMax && left.some(({ asked }) => asked.length > 0)) {
    for (const { method, asked } of left) {
      const params = asked.shift()
      if (params === undefined || questions.length === questionsMax) continue
      questions.push(JSON.stringify({ jsonrpc: '2.0', id: questions.length, method, params }))
    }
  }
  return questions
}

const questions = fixedQuestions()

class Victim {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: victimLanes })
  #expected: readonly string[] = []

  constructor(origin: string, key: string) {
    this.#url = `${origin}/demo/v3/${key}`
  }

  /**
   * Sends all calls without an attack, for as long as an attack lasts. So differences without an attack are known, and
   * times beside an attack are not those of cold code.
   */
  async learn(t: Test): Promise<void> {
    this.#expected = await this.#askAll([])
    const tookMs: number[] = []
    const endsAtMs = performance.now() + seconds * 1_000
    do await this.expectTheSame(t, 'nobody else asks', tookMs)
    while (performance.now() < endsAtMs)
    t.comment(`alone: ${timesOf(tookMs)}`)
  }

  async expectTheSame(t: Test, when: string, tookMs: number[]): Promise<void> {
    const answers = await this.#askAll(tookMs)
    const others = answers.flatMap((answer, at) =>
      answer === this.#expected[at] ? [] : [`${questions[at]} was answered ${answer.slice(0, 300)}`],
    )
    t.same(others.slice(0, 3), [], `${when}: all ${answers.length} answers are the same`)
  }

  async #askAll(tookMs: number[]): Promise<string[]> {
    const answers: string[] = Array(questions.length)
    let next = 0
    const lane = async () => {
      while (next < questions.length) {
        const at = next++
        const beganMs = performance.now()
        answers[at] = (await post(this.#url, questions[at] as string, {}, this.#agent)).text
        tookMs.push(performance.now() - beganMs)
      }
    }
    await Promise.all(Array.from({ length: victimLanes }, lane))
    return answers
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Starts an attack in a thread of its own; resolves once it runs. */
async function startAttack(
  attack: SealingAttack,
): Promise<{ readonly done: number; end(): Promise<unknown> }> {
  const worker = new Worker(new URL('../../faults/sealingAttacker.js', import.meta.url), {
    workerData: attack,
  })
  const state = { done: 0, failure: undefined as Error | undefined, end: () => worker.terminate() }
  worker.on('message', () => state.done++)
  worker.on('error', (error) => {
    state.failure = error
  })
  await waitFor(`the first attack by ${attack.kind}`, () => {
    if (state.failure !== undefined) throw state.failure
    return state.done > 0
  })
  return state
}

function timesOf(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${values.length} calls`
}

async function startSealed(
  t: Test,
): Promise<{ readonly service: Service; readonly keys: readonly string[] }> {
  const source = { type: 'develop', blockSeconds: 1 }
  const developer = { name: 'dev', genesis: 'genesis.json', source }
  // For the victim alone, so that the expected events of its subscriptions are known.
  const own = { name: 'own', genesis: 'genesis.json', source }
  const rollup = { name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA' }
  const copy = copyDemo(t, {
    demo: { javascriptTracers: true },
    networks: [developer, own, rollup],
    edges,
    logLevel: 'error',
    // Times in which a busy machine answers the victim; attackers set shorter limits if they can.
    limits: { poolThreads: threads, poolNiceness: 0, requestMsMax: 120_000, startMsMax: 60_000 },
  })
  writeInto(copy.folder, 'genesis.json', testGenesis(mergedConfig()))
  const keys = await createKeys(copy.dataDir, ['victim', 'attacker'])
  const service = await startService(['--config', copy.config])
  t.teardown(() => service.stop())
  return { service, keys }
}

t.test('a victim is answered the same, whatever another key does', { timeout: 1_800_000 }, async (t) => {
  t.comment(`seed ${seed} (repeat with SEED=${seed}), ${seconds} s and ${lanes} lanes of each attack`)
  t.equal(questions.length, questionsMax)
  const { service, keys } = await startSealed(t)
  const [key = '', attackersKey = ''] = keys
  const victim = new Victim(service.origin, key)
  t.teardown(() => victim.close())
  const streams = await VictimStreams.open(service.origin, key)
  t.teardown(() => streams.close())
  const submissions = new VictimSubmissions(service.origin, key)
  const expectRest = async (when: string) => {
    await streams.expectAll(t, when)
    await submissions.expectAll(t, when)
  }
  await victim.learn(t)
  await expectRest('nobody else asks')
  let highest = 0
  const watch = setInterval(() => {
    highest = Math.max(highest, readRssBytes(service.process.pid))
  }, 50)
  t.teardown(() => clearInterval(watch))
  const rounds: (readonly AttackKind[])[] = someOf(chosen, 2).map((kind) => [kind])
  if (chosen.length > 1) rounds.push(chosen)
  for (const kinds of rounds) {
    const name = kinds.length === 1 ? String(kinds[0]) : 'all at once'
    const attacks = await Promise.all(
      kinds.map((kind, at) =>
        startAttack({ origin: service.origin, key: attackersKey, kind, seed: seed + at, lanes }),
      ),
    )
    const tookMs: number[] = []
    const endsAtMs = performance.now() + seconds * 1_000
    do await victim.expectTheSame(t, `beside ${name}`, tookMs)
    while (performance.now() < endsAtMs)
    await expectRest(`beside ${name}`)
    const done = attacks.reduce((sum, attack) => sum + attack.done, 0)
    await Promise.all(attacks.map((attack) => attack.end()))
    t.ok(done > 0, `${done} attacks`)
    const mostMiB = Math.round(highest / 2 ** 20)
    t.comment(`beside ${name}: ${timesOf(tookMs)}, ${done} attacks, at most ${mostMiB} MiB`)
    await sleep(100)
    await victim.expectTheSame(t, `after ${name}`, [])
    await expectRest(`after ${name}`)
  }
  t.ok(highest < rssBytesMax, `${Math.round(highest / 2 ** 20)} MiB were resident at most`)
  t.equal(service.process.exitCode, null)
  t.same(reportsOf(service.said.err), [], 'and no defect is logged')
})
