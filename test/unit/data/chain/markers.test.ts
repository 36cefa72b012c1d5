/** The blocks named `safe` and `finalized`. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Chain } from '../../../../src/data/chain/chain.js'
import type { BlockTag } from '../../../../src/data/chain/chainBlocks.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { headBlock } from '../../../rpc/demoChain.js'
import { demoStorePath } from '../../../store/storedMessages.js'

t.test('a block that the store marks goes before one that is so far behind', async (t) => {
  const path = join(t.testdir(), 'chain.mdb')
  cpSync(demoStorePath, path)
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const chainWith = (supportsSafe: boolean) =>
    new Chain(store, { supportsSafe, safeLag: 1, finalizedLag: 2, answerCacheBytes: 0 })
  const numberOf = (tag: BlockTag, chain = chainWith(true)) => chain.resolve({ kind: 'tag', tag }, 0)?.number
  const head = headBlock.number
  t.same([numberOf('safe'), numberOf('finalized')], [head - 1, head - 2])
  t.throws(() => numberOf('safe', chainWith(false)), FaultError)

  const named = (number: number) => {
    const hash = store.readCanonicalHash(number)
    if (hash === undefined) throw new Error(`block ${number} is missing`)
    return { number, hash }
  }
  const before = chainWith(true)
  const { generation } = before.head
  let heads = 0
  before.onHead(() => heads++)
  store.writeMarker('safe', named(head - 5))
  store.writeMarker('finalized', named(head - 9))
  before.refreshHead()
  t.ok(before.head.generation > generation, 'answers of before are not repeated')
  t.equal(heads, 0, 'and nobody is told of a head')
  t.same([numberOf('safe'), numberOf('finalized')], [head - 5, head - 9])
  t.equal(numberOf('safe', chainWith(false)), head - 5, 'a marked one needs no setting')

  const { hash } = named(head - 4)
  store.writeMarker('finalized', { number: head - 9, hash })
  t.equal(numberOf('finalized'), head - 2, 'a mark on another chain says nothing of this one')
  store.writeMarker('finalized', { number: head + 1, hash })
  t.equal(numberOf('finalized'), head - 2)
})
