// @shares
import { existsSync } from 'node:fs'
import t from 'tap'
import {
  BlockJsonError,
  blockRlpFromJson,
  headerRlpFromJson,
} from '../../../../src/data/chain/blockFromJson.js'
import { Chain } from '../../../../src/data/chain/chain.js'
import { headerFields } from '../../../../src/data/chain/header.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { fixtureDir } from '../../../service/fixtures.js'
import { storePathOf } from '../../../service/program.js'

const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 0 }

for (const network of ['demo', 'recorded']) {
  const path = storePathOf(fixtureDir, network)
  const skip = !existsSync(path) && 'there are no recordings'
  t.test(`every block of the ${network} chain is rebuilt from its JSON`, { skip }, async (t) => {
    const store = ChainReader.open({ path })
    t.teardown(() => store.close())
    const chain = new Chain(store, options)
    const types = new Set<unknown>()
    let uncles = 0
    let withdrawals = 0
    for (let number = 0; number <= chain.head.number; number++) {
      const hash = store.readCanonicalHash(number)
      if (hash === undefined) throw new Error('the fixture is not whole')
      const json = JSON.parse(Buffer.from(chain.blockJson(hash, true) ?? []).toString())
      for (const { type } of json.transactions) types.add(type)
      withdrawals += json.withdrawals?.length ?? 0
      const uncleHeaders = json.uncles.map((_: unknown, index: number) => {
        uncles++
        return headerRlpFromJson(JSON.parse(Buffer.from(chain.uncleJson(hash, index) ?? []).toString()))
      })
      const rebuilt = blockRlpFromJson(json, uncleHeaders)
      const wanted = bytesToHex(chain.readRawBlock(hash) ?? new Uint8Array())
      if (bytesToHex(rebuilt) !== wanted) t.equal(bytesToHex(rebuilt), wanted, `block ${number}`)
    }
    t.ok(chain.head.number > 40)
    t.strictSame([...types].sort(), ['0x0', '0x1', '0x2', '0x3', '0x4'], 'transactions of every type')
    t.ok(withdrawals > 0, 'withdrawals')
    if (network === 'demo') t.ok(uncles > 0, 'uncles')
  })
}

/** `String` throws for this value, as for {@link listsInLists}. */
const textless = { toString: 0 }
const listsInLists = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)

t.test('what is no block is refused by the member that is wrong', async (t) => {
  for (const [json, why] of [
    [null, /block is no object/],
    [[], /block is no object/],
    [{}, /transactions is no list/],
    [{ transactions: [{ type: '0x7e' }] }, /transaction type 0x7e/],
    [{ transactions: [{ nonce: 1 }] }, /nonce is 1/],
    [{ transactions: [{ nonce: '0xzz' }] }, /nonce is 0xzz/],
    [{ transactions: [], parentHash: `0x${'é'.repeat(64)}` }, /parentHash is 0xé/],
    [{ transactions: [null] }, /transaction is no object/],
    [{ transactions: [{ type: textless }] }, /transaction type an object/],
    [{ transactions: [{ type: '0x0', nonce: textless }] }, /nonce is an object/],
    [{ transactions: [], parentHash: listsInLists }, /parentHash is a list/],
  ] as const) {
    const refusal = t.throws(() => blockRlpFromJson(json, []), { message: why })
    t.ok(refusal instanceof BlockJsonError)
  }
})

t.test('a hash and unknown members that are no text are none of the header', (t) => {
  const word = `0x${'00'.repeat(32)}`
  const words = headerFields.map((name) => [name, word])
  const header = Object.fromEntries(words)
  const more = { hash: textless, unknown: textless, listed: listsInLists }
  t.strictSame(headerRlpFromJson({ ...header, ...more }), headerRlpFromJson(header))
  t.end()
})
