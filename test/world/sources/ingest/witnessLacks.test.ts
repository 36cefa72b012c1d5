// @shares
/**
 * Witnesses that lack a part, and witnesses with a wrong part. A node with the first kind gets no more requests for
 * witnesses, but gets all other requests as before. Only the second kind is a lie.
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { amsterdamFile, withoutAmsterdam } from '../../../ingest/amsterdam.js'
import { makeAmsterdamReplay } from '../../../ingest/amsterdamReplay.js'
import { ArchiveNode, GatewayRig } from '../../../ingest/gatewayRig.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { waitFor } from '../../../library/until.js'

interface Witness {
  readonly state: readonly string[]
  readonly codes: readonly string[]
  readonly headers: readonly object[]
}

type Change = (witness: Witness, dice: Dice) => unknown

const { seed } = propertyRuns(1)
const dice = new Dice(seed as number)

/** The root of the state is a node of every witness; which other ones are read depends on the block. */
const lacks: Readonly<Record<string, Change>> = {
  'the root': (witness) => ({ ...witness, state: witness.state.slice(1) }),
  'half of its nodes': (witness, dice) => ({
    ...witness,
    state: witness.state.filter((_, at) => at > 0 && dice.throw(2) === 0),
  }),
  'all nodes': (witness) => ({ ...witness, state: [] }),
  'a node, which is a byte longer': (witness) => ({
    ...witness,
    state: witness.state.map((node) => `${node}00`),
  }),
  'all code': (witness) => ({ ...witness, codes: [] }),
  'its nodes as a list': (witness) => ({ ...witness, state: Object.fromEntries(witness.state.entries()) }),
  'its lists': () => ({}),
  'a list': ({ state, headers }) => ({ state, headers }),
  anything: () => 'witness',
}

const lies: Readonly<Record<string, Change>> = {
  'a node that is not hex': (witness) => ({ ...witness, state: [...witness.state, '0xzz'] }),
  'code that is no text': (witness) => ({ ...witness, codes: [...witness.codes, 7] }),
  'a header beside the parent': (witness) => ({
    ...witness,
    headers: [...witness.headers, { ...witness.headers[0], gasLimit: '0x7' }],
  }),
  'a header that is none': (witness) => ({ ...witness, headers: [...witness.headers, '0xc0'] }),
}

/** Moves the clock, so that a method that was avoided for some seconds is used again. */
let aheadMs = 0
const now = performance.now.bind(performance)
performance.now = () => now() + aheadMs

/** In words that do not name the method. */
const refusals: Readonly<Record<string, { readonly code: number; readonly message: string }>> = {
  'words of its own': { code: -32000, message: 'we would rather not' },
  'a code of its own': { code: 31, message: '' },
  'invalid params': { code: -32602, message: 'missing value for required argument 1' },
  'an internal error': { code: -32603, message: 'Internal error' },
}

async function openArchive(t: Test) {
  const genesis = readFileSync(amsterdamFile('a1-cross', 'genesis.json'), 'utf8')
  const { blocks } = await makeAmsterdamReplay(t, { length: 60, from: 44, intervalMs: 0 })
  const archive = await ArchiveNode.open(t, genesis, ['witness'])
  let next = 0
  const take = async () => archive.take((blocks[next++] as { readonly rlp: Uint8Array }).rlp)
  for (let count = 0; count < 30; count++) await take()
  return { archive, take }
}

t.test(
  'a refusal, in whatever words, counts for the method at that node',
  { skip: withoutAmsterdam },
  async (t) => {
    const { archive, take } = await openArchive(t)
    for (const [what, error] of Object.entries(refusals)) {
      let asked = 0
      archive.change = ({ method }, answer) => {
        if (method !== 'debug_executionWitness') return answer
        asked++
        return { error }
      }
      const rig = await GatewayRig.open(t, [archive])
      for (const _ of [1, 2, 3]) {
        await take()
        archive.tell()
        await rig.reached(archive.head)
        aheadMs += 11_000
      }
      // A vague error is asked about once more, at once.
      const times = [-32000, -32603].includes(error.code) ? 2 : 1
      t.equal(asked, times, `after ${what} it is not asked again`)
      t.equal(rig.said.split('no upstream gave the witness').length, 2, `which is said once: ${rig.said}`)
      t.notMatch(rig.said, / lied: /, what)
      archive.change = (_, answer) => answer
      await rig.stop()
    }
  },
)

t.test('a part that is lacking is no lie, a wrong one is', { skip: withoutAmsterdam }, async (t) => {
  const { archive, take } = await openArchive(t)
  for (const [kind, changes] of Object.entries({ lacks, lies })) {
    for (const [what, change] of Object.entries(changes)) {
      const rig = await GatewayRig.open(t, [archive])
      let asked = 0
      archive.change = ({ method }, answer) => {
        if (method !== 'debug_executionWitness' || !('result' in answer)) return answer
        asked++
        return { result: change(answer.result as Witness, dice) }
      }
      await take()
      archive.tell()
      if (kind === 'lies') {
        await waitFor(`${what} to be called a lie`, () => / lied: .*(witness|hex|header)/.test(rig.said))
      } else {
        await rig.reached(archive.head)
        await take()
        archive.tell()
        await rig.reached(archive.head)
        t.equal(asked, 1, `after ${what} it is not asked again`)
        t.match(rig.said, /its witness of block \d+ lacks /, what)
        t.notMatch(rig.said, / lied: /, what)
      }
      archive.change = (_, answer) => answer
      await rig.stop()
    }
  }
})
