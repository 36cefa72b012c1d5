import { readFileSync } from 'node:fs'
import t from 'tap'
import { methodsPage } from '../../../../build/methodsPage.js'

t.test('docs/methods.md lists every method as it is; npm run docs writes it', async (t) => {
  const page = readFileSync(methodsPage.path, 'utf8')
  t.equal(page, methodsPage.render(page))
  t.match(page, '| `eth_getBalance` | address, block? |')
  t.throws(() => methodsPage.render('# Methods'), RangeError)
})
