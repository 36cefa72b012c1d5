/** The asked and the accused nodes, until a result is proved. */
import t from 'tap'
import { FaultError } from '../../../../src/primitives/faults.js'
import { LieError, MovedError } from '../../../../src/sources/ingest/nodes/lie.js'
import { type Asking, type Attempt, Proving } from '../../../../src/sources/ingest/nodes/proving.js'
import { NodeError, type Upstream } from '../../../../src/sources/upstream/upstream.js'
import { NoAnswerError } from '../../../../src/sources/upstream/upstreams.js'
import { upstreamDouble } from '../../../upstream/upstreamDouble.js'

/**
 * Nodes by name. Each answers every question with the next of its answers, repeats the last one, or throws an error.
 */
class Nodes implements Asking {
  /** Each question, as the name of its node and the method. */
  readonly asked: string[] = []
  readonly accused: string[] = []
  readonly quorum: number
  readonly #nodes: { readonly upstream: Upstream; readonly answers: unknown[] }[]

  constructor(answers: Readonly<Record<string, readonly unknown[]>>, quorum: number) {
    this.quorum = quorum
    this.#nodes = Object.entries(answers).map(([name, list]) => ({
      upstream: upstreamDouble(name, () => this.accused.push(name)),
      answers: [...list],
    }))
  }

  get count(): number {
    return this.#nodes.length
  }

  get candidates(): readonly Upstream[] {
    return this.#nodes.map(({ upstream }) => upstream)
  }

  async ask(
    method: string,
    _params: readonly unknown[],
    { not = [], only }: { readonly not?: readonly Upstream[]; readonly only?: Upstream },
  ) {
    const node = this.#nodes.find(({ upstream }) => (only ? upstream === only : !not.includes(upstream)))
    if (node === undefined) throw new NoAnswerError('nobody is left')
    const { upstream, answers } = node
    this.asked.push(`${upstream.name} ${method}`)
    const result = answers.length > 1 ? answers.shift() : answers[0]
    if (result === 'error') throw new NodeError(upstream, -32000, 'header not found', undefined)
    if (result === 'unknown') {
      upstream.policy.lack(method)
      throw new NodeError(upstream, -32601, 'no such method', undefined)
    }
    if (result === 'silence') throw new NoAnswerError('no answer')
    return { result, upstream }
  }
}

function proving(nodes: Nodes): Proving {
  return new Proving(nodes, { fetchMsMax: 60_000 })
}

/** Asks twice. Both answers must be 1. */
async function proveOne(attempt: Attempt): Promise<number | undefined> {
  const first = await attempt.ask('first', [])
  if (first === null) return undefined
  const second = await attempt.ask('second', [])
  if (second === null) throw new MovedError('one answer without the other')
  if (first !== 1 || second !== 1) throw new LieError('a number that is not 1')
  return 1
}

t.test('all questions about one thing go to one node', async (t) => {
  const nodes = new Nodes({ a: [1, 'silence'], b: [1, null], c: [1] }, 2)
  t.equal(await proving(nodes).prove('it', proveOne), 1)
  t.strictSame(nodes.asked, ['a first', 'a second', 'b first', 'b second', 'c first', 'c second'])
  t.strictSame(nodes.accused, [], 'nobody lied')
})

t.test('only who gave a wrong answer lied', async (t) => {
  const nodes = new Nodes({ a: [null], b: [1, 2], c: ['error'], d: [1] }, 3)
  t.equal(await proving(nodes).prove('it', proveOne), 1)
  t.strictSame(nodes.accused, ['b'])
})

t.test('something does not exist where fewer than a quorum are left to have it', async (t) => {
  const three = new Nodes({ a: [null], b: [null], c: [1] }, 2)
  t.equal(await proving(three).prove('it', proveOne), undefined)
  const five = new Nodes({ a: [null], b: [null], c: [1], d: [null], e: [null] }, 3)
  t.equal(await proving(five).prove('it', proveOne), 1)
  t.equal(await proving(new Nodes({ a: [null] }, 1)).prove('it', proveOne), undefined, 'the only one')
})

t.test('who was found meanwhile to lack a method is passed over', async (t) => {
  const nodes = new Nodes({ a: [null], b: ['unknown'], c: [null, 1] }, 2)
  const asker = proving(nodes)
  const ask = async (attempt: Attempt) =>
    (await attempt.askOneOf([{ method: 'it', params: [] }])).result ?? undefined
  const methods = ['it']
  let other: Promise<unknown> | undefined
  const answer = await asker.prove(
    'it',
    async (attempt) => {
      const result = await ask(attempt)
      other ??= asker.prove('it', ask, { methods })
      await other
      return result
    },
    { methods },
  )
  t.equal(await other, undefined)
  t.equal(answer, 1)
  t.strictSame(nodes.asked, ['a it', 'a it', 'b it', 'c it', 'c it'])
})

t.test('where one denies and the others fail, nothing is known', async (t) => {
  const nodes = new Nodes({ a: [null], b: ['error'], c: [1, null] }, 2)
  await t.rejects(proving(nodes).prove('it', proveOne), FaultError)
  t.strictSame(nodes.accused, [])
})

t.test('what a quorum says, whatever its size', async (t) => {
  const read = (attempt: Attempt) => attempt.ask('it', [])
  const said = (answers: readonly unknown[], quorum: number) => {
    const nodes = new Nodes(Object.fromEntries(answers.map((answer, at) => [`n${at}`, [answer]])), quorum)
    return proving(nodes).agree(read, String)
  }
  t.equal(await said(['x', 'y', 'x', 'y', 'x'], 3), 'x')
  t.equal(await said(['x', 'error', 'y', 'x', 'y', 'y', 'z'], 3), 'y')
  t.equal(await said(['x', 'y', 'z', 'x', 'y'], 3), undefined)
  t.equal(await said(['x'], 1), 'x')
})
