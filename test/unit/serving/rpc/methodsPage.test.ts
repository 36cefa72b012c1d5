import { readFileSync } from 'node:fs'
import t from 'tap'
import { methodsPagePath, renderMethodsPage } from '../../../../build/methodsPage.js'

t.test('docs/methods.md lists every method as it is; npm run docs writes it', async (t) => {
  const page = readFileSync(methodsPagePath, 'utf8')
  t.equal(page, renderMethodsPage(page))
  t.match(page, '| `eth_getBalance` | address, block? |')
  t.throws(() => renderMethodsPage('# Methods'), RangeError)
})
