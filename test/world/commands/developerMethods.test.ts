/** The page of developer chains lists the methods of anvil and of this program; both are called. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { makeFolder } from '../../library/folder.js'
import { startDeveloper } from '../../service/developerChain.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'

const page = readFileSync(join(packageRoot(), 'docs/developer-chain.md'), 'utf8')
const rows = [...page.matchAll(/^\| `(\w+)` \| (yes|no) \| (?:yes|no) \| (yes|no) \|/gm)].map(
  ([, method = '', anvil = '', ours = '']) => ({ method, anvil, ours }),
)
const notFound = -32601
/** Known by name, but not possible. */
const refused = / is not (?:possible here|supported when)/

/** Whether a server has a method; the parameters are missing, so most do nothing. */
async function knows(url: string, method: string): Promise<'yes' | 'no'> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })
  const answer = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const { error } = (await answer.json()) as { error?: { code: number; message: string } }
  return error?.code === notFound || refused.test(error?.message ?? '') ? 'no' : 'yes'
}

t.test('the page has the methods that a run finds here', async (t) => {
  t.ok(rows.length > 40)
  const { service } = await startDeveloper(t)
  for (const { method, ours } of rows) t.equal(await knows(service.origin, method), ours, method)
})

t.test('the page has the methods that a run of anvil finds', { skip: withoutAnvil }, async (t) => {
  const anvil = await startAnvil(t, makeFolder(t), null)
  for (const { method, anvil: theirs } of rows) t.equal(await knows(anvil.url, method), theirs, method)
})
