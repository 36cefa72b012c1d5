/** The pool of the service on the demo store: jobs of all kinds at once, each answered as if it were alone. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { decodeHeader } from '../../../src/data/chain/header.js'
import { searchLogs } from '../../../src/data/chain/logSearch.js'
import { buildIndexProofJson } from '../../../src/data/state/indexProof.js'
import { buildProofJson } from '../../../src/data/state/proof.js'
import { triesAfter } from '../../../src/data/state/tries.js'
import { computeWrittenSlots } from '../../../src/data/state/writtenKeys.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { mapBytesDefault } from '../../../src/data/store/lmdb/environment.js'
import { Witnesses } from '../../../src/execution/evm/blocks/executionWitness.js'
import { JobWatch } from '../../../src/execution/evm/engine/jobWatch.js'
import { Execution } from '../../../src/execution/evm/messages/execution.js'
import type { ExecutionRequest } from '../../../src/execution/evm/messages/executionRequest.js'
import { listedAccesses, returnedJson, withTexts } from '../../../src/execution/evm/messages/outcomeJson.js'
import { Simulation } from '../../../src/execution/evm/simulate/simulation.js'
import { bytesToHex, padLeft, toAddress, toHash32, toMinimalBytes } from '../../../src/primitives/bytes.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { jobsOfNetwork, openJobPool } from '../../../src/serving/pool/jobPool.js'
import type { JobName, Jobs } from '../../../src/serving/pool/jobs.js'
import type { ThreadLoss } from '../../../src/serving/pool/poolOptions.js'
import { RequestContext } from '../../../src/serving/rpc/contexts/requestContext.js'
import { demoStorePath, storedMessages } from '../../store/storedMessages.js'

const jobsAtOnce = 1_000
const limits = { timeMsMax: 60_000, memoryBytesMax: 2 ** 28 }

/** Jobs of an archive network, except those that run in a thread of their own. */
type ChainJobName = Exclude<JobName, 'invokeHash' | 'headerProof' | 'script'>

type Question = {
  readonly [N in ChainJobName]: { readonly name: N; readonly args: Jobs[N]['args'] }
}[ChainJobName]

const word = (value: number) => toHash32(padLeft(toMinimalBytes(value), 32))

/** One kind of question after another, over transactions and blocks of the whole chain. */
function makeQuestions(store: ChainReader): Question[] {
  const messages = [...storedMessages(store)]
  return Array.from({ length: jobsAtOnce }, (_, i): Question => {
    const { header, parentHash, message } = messages[(i * 37) % messages.length] as (typeof messages)[number]
    const request: ExecutionRequest = {
      block: { number: header.number - 1, hash: parentHash, isPending: false },
      message,
      gasDefault: 5_000_000n,
      gasMax: 5_000_000n,
    }
    switch (i % 7) {
      case 0: {
        const parent = store.readHeader(parentHash)
        if (parent === undefined) throw new RangeError('a parent is missing')
        const slots = [0, i, 2 * i].map(word)
        return {
          name: 'prove',
          args: {
            number: header.number - 1,
            block: toHash32(Uint8Array.from(parentHash)),
            stateRoot: decodeHeader(parent).stateRoot,
            address: toAddress(message.to ?? message.from ?? new Uint8Array(20)),
            keys: slots.map((slot) => ({ slot, writtenBytes: 32 })),
          },
        }
      }
      case 1:
        return { name: 'call', args: request }
      case 2:
        return { name: 'estimate', args: request }
      case 3:
        return { name: 'accessList', args: request }
      case 4: {
        const head = store.readHead()
        if (head === undefined) throw new RangeError('the head is missing')
        const criteria = { addresses: message.to === undefined ? [] : [toAddress(message.to)], topics: [] }
        const bounds = { logsMax: 1 + (i % 100), logBytesMax: 2 ** 24 }
        return {
          name: 'searchLogs',
          args: { search: { criteria, head, first: 1, last: head.number }, bounds },
        }
      }
      case 5: {
        const hash = store.readCanonicalHash(1 + (i % 264))
        if (hash === undefined) throw new RangeError('a block is missing')
        return { name: 'witness', args: { hash } }
      }
      default:
        return {
          name: 'mappingSlots',
          args: {
            slot: word(i),
            keysJson: Buffer.from(JSON.stringify([i, [i + 1, i % 3 === 0 ? 'no key' : '0x7']])),
            types: undefined,
            argument: 0,
            before: 0,
          },
        }
    }
  })
}

/** A value that crosses threads may have another class with equal content; here it is text. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Uint8Array) return bytesToHex(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member)]))
}

async function outcomeOf(job: Promise<unknown>): Promise<unknown> {
  try {
    return plain(await job)
  } catch (thrown) {
    if (thrown instanceof FaultError) return plain(thrown.fault)
    throw thrown
  }
}

t.test('1,000 mixed jobs at once answer what each alone does', async (t) => {
  const store = ChainReader.open({ path: demoStorePath })
  const losses: ThreadLoss[] = []
  const pool = openJobPool({
    limits: {
      threads: 3,
      niceness: 0,
      waitingMax: {
        proof: jobsAtOnce,
        execute: jobsAtOnce,
        slots: jobsAtOnce,
        hash: 1,
        logs: jobsAtOnce,
        trace: 1,
        script: 1,
      },
      scriptsMax: 1,
      deadlineMsMax: 200_000,
      execution: limits,
      trace: { ...limits, answerBytesMax: 2 ** 28 },
    },
    stores: [{ network: 'demo', path: demoStorePath, mapBytes: mapBytesDefault }],
    onThreadLost: (loss) => losses.push(loss),
  })
  t.teardown(async () => {
    await pool.close(0)
    await store.close()
  })
  const { run } = jobsOfNetwork(pool, 'demo')
  const questions = makeQuestions(store)
  const caller = new RequestContext()
  const answers = await Promise.all(questions.map(({ name, args }) => outcomeOf(run(name, args, caller))))
  t.match(pool.counts, { waiting: 0, running: 0, refused: 0, threadsLost: 0 })
  t.strictSame(losses, [])

  const execution = new Execution(store, limits)
  const witnesses = new Witnesses(store)
  const simulation = new Simulation(store, limits)
  const goOn = () => false
  const alone = async ({ name, args }: Question): Promise<unknown> => {
    switch (name) {
      case 'trace':
      case 'stateParts':
      case 'fill':
        throw new Error('no question is a trace')
      case 'prove':
        return buildProofJson(triesAfter(store, { number: args.number, hash: args.block }), args)
      case 'indexProof':
        return buildIndexProofJson(store, args)
      case 'mappingSlots':
        return computeWrittenSlots(args)
      case 'witness':
        return witnesses.buildJson(args, new JobWatch(goOn, limits))
      case 'simulate':
        return simulation.simulateJson(args, goOn)
      case 'searchLogs':
        return searchLogs(store, args.search, args.bounds, goOn)
      case 'call':
        return withTexts(execution.call(args, goOn).then(returnedJson))
      case 'accessList':
        return execution.accessList(args, goOn).then(listedAccesses)
      default:
        return execution[name](args, goOn)
    }
  }
  const kinds = new Map<string, number>()
  for (const [index, question] of questions.entries()) {
    const expected = await outcomeOf(alone(question))
    const hasFault = typeof expected === 'object' && expected !== null && 'kind' in expected
    const kind = `${question.name}${hasFault ? ', fault' : ''}`
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    if (!isDeepStrictEqual(answers[index], expected)) t.same(answers[index], expected, `${index}: ${kind}`)
  }
  t.ok(kinds.size >= 6, [...kinds].map(([kind, count]) => `${count} × ${kind}`).join('; '))
})
