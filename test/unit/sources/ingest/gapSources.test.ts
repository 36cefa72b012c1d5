import t from 'tap'
import { type Hash32, toHash32 } from '../../../../src/primitives/bytes.js'
import { type GapLink, type GapSource, inTurns } from '../../../../src/sources/ingest/engine/gapSources.js'
import { NoAnswerError } from '../../../../src/sources/upstream/upstreams.js'

const hash: Hash32 = toHash32(new Uint8Array(32))
const link: GapLink = { number: 1, hash, parentHash: hash, root: undefined, parentRoot: undefined }

/** A source whose answers the test chooses, and which notes its name when it is asked. */
function source(name: string, asked: string[]) {
  const state: { answer: 'has' | 'lacks' | 'silent' | 'broken' } = { answer: 'has' }
  const answer = async <T>(found: T): Promise<T | undefined> => {
    asked.push(name)
    if (state.answer === 'silent') throw new NoAnswerError(`${name} is silent`)
    if (state.answer === 'broken') throw new TypeError('a defect')
    return state.answer === 'has' ? found : undefined
  }
  const made: GapSource = {
    find: () => answer(link),
    linksBelow: () => answer([link]),
    block: () => answer({ ...link, rlp: new Uint8Array(1), block: undefined }),
  }
  return Object.assign(state, { source: made })
}

t.test('the source without an answer is asked last for a while', async (t) => {
  const asked: string[] = []
  let now = 1_000
  const [nodes, beacon] = [source('nodes', asked), source('beacon', asked)]
  const both = inTurns([nodes.source, beacon.source], () => now)
  const order = async (ask: () => Promise<unknown>, expected: string) => {
    asked.length = 0
    t.ok(await ask())
    t.equal(asked.join(' '), expected)
  }
  await order(() => both.find(hash), 'nodes')
  nodes.answer = 'silent'
  await order(() => both.block(link), 'nodes beacon')
  await order(() => both.linksBelow(link, 1), 'beacon')
  beacon.answer = 'lacks'
  nodes.answer = 'has'
  await order(() => both.find(hash), 'beacon nodes')
  now += 60_000
  await order(() => both.find(hash), 'nodes')
})

t.test('an absent block is undefined, silence and defects are errors', async (t) => {
  const asked: string[] = []
  const [nodes, beacon] = [source('nodes', asked), source('beacon', asked)]
  const both = inTurns([nodes.source, beacon.source])
  nodes.answer = 'lacks'
  beacon.answer = 'lacks'
  t.equal(await both.find(hash), undefined)
  nodes.answer = 'silent'
  await t.rejects(both.find(hash), { name: 'NoAnswerError', message: 'nodes is silent' })
  beacon.answer = 'silent'
  await t.rejects(both.find(hash), { message: 'nodes is silent; beacon is silent' })
  nodes.answer = 'broken'
  await t.rejects(both.find(hash), TypeError)
})
