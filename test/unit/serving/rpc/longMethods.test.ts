// @alone it measures its process, or closes what others share
/** Methods whose work is long share the thread with each other, on the demo network and the service's own pool. */
import t from 'tap'
import { examples, headBlock } from '../../../rpc/demoChain.js'
import { demoEndpoint, opened } from './demoRig.js'
import { bodyText } from './testMethods.js'

const tide = examples.contracts.find(({ name }) => name === 'Tide')?.address ?? ''
const shelf = examples.contracts.find(({ name }) => name === 'Shelf')?.address ?? ''

/** Slots that were read on this thread. */
let reads = 0
const { state } = opened.current
const readSlot = state.readSlot.bind(state)
state.readSlot = (...args) => {
  reads++
  return readSlot(...args)
}

/** Turns as short as they can be. */
const endpoint = demoEndpoint(opened, { turnMsMax: 0 })

function handle(method: string, params: readonly unknown[]) {
  return endpoint.handle(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })))
}

const words = (count: number) =>
  Array.from({ length: count }, (_, i) => `0x${i.toString(16).padStart(64, '0')}`)

t.test('keys in bulk are looked at by a thread of the pool', async (t) => {
  for (const [method, before] of [
    ['tidegate_getMappingSlot', []],
    ['tidegate_getStorageByKeys', [tide, '0x3']],
  ] as const) {
    const params = method === 'tidegate_getMappingSlot' ? ['0x3'] : []
    const answer = handle(method, [...before, [...words(9_000), 'none'], ...params])
    t.ok(answer instanceof Promise, method)
    t.match(bodyText(await answer), `keys[9000]: want at most 32 bytes`)
  }
})

t.test('half a surrogate pair is no text of a key, however many keys there are', async (t) => {
  const keys = Array(100).fill('tide')
  const slots: string[] = JSON.parse(
    bodyText(await handle('tidegate_getMappingSlot', [keys, '0x7', 'string'])),
  ).result
  t.same(new Set(slots).size, 1)
  const body = `{"jsonrpc":"2.0","id":1,"method":"tidegate_getMappingSlot","params":[[${keys.map((key) => `"${key}"`)},"\\ud83d"],"0x7","string"]}`
  t.match(bodyText(await endpoint.handle(Buffer.from(body))), 'keys[100]: want whole characters')
})

/** The most slots that were read in one turn of the loop until all of `asked` are answered. */
async function readsOfTurn(asked: readonly unknown[]): Promise<number> {
  let isDone = false
  const done = Promise.all(asked).finally(() => {
    isDone = true
  })
  let most = 0
  for (let before = reads; !isDone; before = reads) {
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, reads - before)
  }
  await done
  return most
}

t.test('values of many keys are read in turns that requests share', async (t) => {
  const asked = [1, 2].map(() => handle('tidegate_getStorageByKeys', [tide, '0x3', words(300), 'latest']))
  const most = await readsOfTurn(asked)
  // One read when the answer of the pool arrives, and one after all sockets are served.
  t.ok(most <= 2, `${most} reads`)
  const [first = '', second] = (await Promise.all(asked)).map(bodyText)
  t.equal(JSON.parse(first).result.length, 300)
  t.equal(first, second)
})

t.test('variables are read one in each turn', async (t) => {
  const blocks = [-1, -2, -3, -4, -5].map((back) => `0x${(headBlock.number + back).toString(16)}`)
  const ask = (block: string) => handle('tidegate_readVariable', [shelf, 'corners', block])
  reads = 0
  await ask('latest')
  const one = reads
  t.equal(one, 4)
  const asked = blocks.map(ask)
  const most = await readsOfTurn(asked)
  t.ok(most <= one, `${most} reads`)
})

t.test('a path has a length', async (t) => {
  const path = 'x'.repeat(16 * 1024 + 1)
  t.match(
    bodyText(await handle('tidegate_readVariable', [shelf, path])),
    'invalid argument 1: want a path of at most 16384 characters, got 16385',
  )
})
