import t from 'tap'
import { familyNamed } from '../../../../src/data/chain/families/families.js'
import { atHead, createReported } from '../../../../src/serving/rpc/dispatch/relay.js'

t.test(
  'a told answer is kept until the next head, and of a final block where a quorum gave it',
  async (t) => {
    let trust = 'quorum'
    const asked: string[] = []
    const relay = async (_method: string, params: string) => {
      asked.push(params)
      return `${trust} "0x${asked.length}"`
    }
    const reported = createReported(familyNamed('zksync'), { relay } as never, () => 50)
    const ask = async (generation: number, block: number) => {
      const { json } = await reported.ask(generation, 'eth_call', `[{},"0x${block.toString(16)}"]`, block)
      return json
    }
    t.strictSame(await Promise.all([ask(1, 50), ask(1, 50), ask(1, 51)]), ['"0x1"', '"0x1"', '"0x2"'])
    t.strictSame([await ask(2, 50), await ask(2, 51), await ask(2, 51)], ['"0x1"', '"0x3"', '"0x3"'])
    trust = 'none'
    t.strictSame([await ask(2, 49), await ask(2, 49), await ask(3, 49)], ['"0x4"', '"0x4"', '"0x5"'])
  },
)

t.test('the newest block is named by its number', async (t) => {
  const call = { params: [{ name: 'call' }, { name: 'block' }] }
  t.strictSame(atHead(call, [{}], 9), { params: [{}, '0x9'], block: 9 })
  t.strictSame(atHead(call, [{}, 'latest', 1], 9), { params: [{}, '0x9', 1], block: 9 })
  t.strictSame(atHead(call, [{}, '0x5'], 9), { params: [{}, '0x5'], block: 5 })
  t.strictSame(atHead(call, [{}, 'safe'], 9), { params: [{}, 'safe'], block: undefined })
  t.strictSame(atHead({ params: [] }, [], 9), { params: [], block: undefined })
})
