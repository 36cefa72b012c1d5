/** The prices in docs/api-keys.md are the charges of calls. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { bodyBytesPerUnit, priceOf, unitsMax, unitsMin } from '../../../../src/serving/rpc/contexts/price.js'
import type { Method } from '../../../../src/serving/rpc/method.js'
import { headProofPrice, verifiedReads } from '../../../../src/serving/rpc/methods/verifiedReads.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../../../src/serving/rpc/rollup/rollupRegistry.js'

const page = readFileSync(join(packageRoot(), 'docs/api-keys.md'), 'utf8')

/** Cells of the table of prices: methods by price. */
function readPrices(): Map<string, string> {
  const table = page.slice(page.indexOf('| units | for a call of |')).split('\n\n')[0] as string
  const found = new Map<string, string>()
  for (const row of table.split('\n').slice(2)) {
    const [, units = '', names = ''] = row.split('|').map((cell) => cell.trim())
    for (const [, name = ''] of names.matchAll(/`([^`]+)`/g)) {
      if (found.has(name)) throw new Error(`${name} occurs twice in the table of prices`)
      found.set(name, units)
    }
  }
  return found
}

/** The price of a call whose list, in any parameter, has this number of items. */
function listPrice({ name, price, params }: Method<never>, items: number): number {
  const list = Array(items).fill('0x1')
  if (name === 'eth_subscribe') return priceOf(price, ['logs', { address: list }])
  if (name.startsWith('ots_searchTransactions')) return priceOf(price, ['0x', 0, items])
  if (name === 'eth_simulateV1') return priceOf(price, [{ blocks: list.map(() => ({ calls: [] })) }])
  if (name === 'eth_callMany' || name === 'debug_traceCallMany')
    return priceOf(price, [list.map(() => ({ calls: [] }))])
  if (name === 'eth_feeHistory') return priceOf(price, [items])
  if (name === 'web3_sha3') return priceOf(price, [new Uint8Array(items * 1_024)])
  if (name === 'eth_getStorageValues') return priceOf(price, [list.map(() => ['0x1', []])])
  if (['eth_getLogs', 'eth_newFilter', 'tidegate_getLogs'].includes(name))
    return priceOf(price, [{ criteria: { addresses: list, topics: [] } }])
  return priceOf(
    price,
    params.map(() => list),
  )
}

const pricePattern =
  /^(\d+)(?:, and (\d+) for each (?:key|block|block and call|bundle and call|call|transaction of the page|whole KiB|address and key|address and topic)(?: \([^)]*\))?|; with full transactions (\d+))?$/

t.test('every method stands in the table of prices, with what it costs', async (t) => {
  const table = readPrices()
  const all: Method<never>[] = [...Object.values(methods), ...Object.values(rollupMethods)]
  t.strictSame([...table.keys()].sort(), all.map(({ name }) => name).sort())
  for (const method of all) {
    if (method.name === 'tidegate_getVerified') {
      const prices = new Set([...verifiedReads.values()].map(({ price }) => price))
      t.strictSame(
        table.get(method.name)?.match(/\d+/g)?.map(Number),
        [...prices, headProofPrice],
        method.name,
      )
      continue
    }
    const [, base, each = 0, full] = pricePattern.exec(table.get(method.name) ?? '') ?? []
    if (full === undefined) {
      for (const items of [0, 1, 1_000]) {
        t.equal(
          listPrice(method, items),
          Number(base) + items * Number(each),
          `${method.name}, ${items} keys`,
        )
      }
    } else {
      t.equal(priceOf(method.price, ['0x1', false]), Number(base), method.name)
      t.equal(priceOf(method.price, ['0x1', true]), Number(full), `${method.name}, full`)
    }
  }
})

t.test('the longest lists that the defaults allow are charged in full', async (t) => {
  for (const [method, items] of [
    [methods.eth_getProof, 1_024],
    [methods.tidegate_getMappingSlot, 10_000],
    [methods.tidegate_getStorageByKeys, 10_000],
  ] as const) {
    const price = listPrice(method, items)
    t.ok(price > items && price < unitsMax, `${method.name}: ${price}`)
  }
})

t.test('keys of mappings in mappings are charged for each value, long ones for what they take', async (t) => {
  const keys = ['0x1', ['0x1', '0x2', '0x3'], 'x'.repeat(3 * 136)]
  t.equal(priceOf(methods.tidegate_getMappingSlot.price, [keys]), 2 + 1 + 3 + 4)
  t.equal(priceOf(methods.tidegate_getStorageByKeys.price, ['0x', '0x', keys]), 2 + 2 * (1 + 3 + 4))
})

t.test('an invalid call costs what the documentation says', async (t) => {
  t.match(page, new RegExp(`An invalid call costs ${unitsMin}\\b`))
  t.match(page, new RegExp(`at most ${unitsMax}\\b`))
  t.match(page, `each whole ${bodyBytesPerUnit / 1_024} KiB of a request's body`)
})
