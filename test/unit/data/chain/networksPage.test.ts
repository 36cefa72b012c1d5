import { readFileSync } from 'node:fs'
import t from 'tap'
import { networksPage } from '../../../../build/networksPage.js'
import { basisOf } from '../../../../src/data/chain/families/basis.js'

t.test('docs/networks.md has every family and network as it is; npm run docs writes it', async (t) => {
  const page = readFileSync(networksPage.path, 'utf8')
  t.equal(page, networksPage.render(page))
  t.match(page, '| arbitrum | xai, apechain, arbitrum, arbitrum-nova, arbitrum-sepolia | proved |')
  t.throws(() => networksPage.render('# Networks'), RangeError)
})

/** The config of a chain with Ethereum's rules. */
const config = '{}'

t.test('what a network has is executed, proved or told, by its kind and family', async (t) => {
  const executed = 'executed'
  const all = {
    headers: executed,
    transactions: executed,
    receipts: executed,
    state: executed,
    calls: executed,
  }
  t.strictSame(basisOf({ config }), all)
  const proved = { headers: 'proved', transactions: 'proved', receipts: 'proved', state: 'proved' }
  t.strictSame(basisOf({ config, gateway: true }), { ...proved, calls: 'executed' })
  t.strictSame(basisOf({ config, gateway: true, family: 'bsc' }), {
    ...proved,
    calls: 'executed or reported',
  })
  t.match(basisOf({ config, gateway: true, family: 'avalanche' }), {
    receipts: 'proved or reported',
    calls: 'reported',
  })
  const reported = {
    headers: 'reported',
    transactions: 'reported',
    receipts: 'reported',
    state: 'reported',
    calls: 'reported',
  }
  t.strictSame(basisOf({ config, gateway: true, family: 'zksync' }), reported)
  const history = { first: 0, hasReceipts: false } as never
  t.strictSame(basisOf({ config, history }), { headers: 'proved', transactions: 'proved' })
})
