// @shares
/**
 * A gateway gets requests for blocks that left its chain, or are not on it yet. It asks nodes by hash, and accuses no
 * honest node.
 */
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { type AnvilNode, startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'
import { between, openBetween, reaches, startGateway } from '../../upstream/followedNode.js'
import { fine, type NodeCall } from '../../upstream/weatherNode.js'

const skip = withoutAnvil

/** Accounts without an earlier request, so that the gateway has to fetch each. */
let strangers = 0
const stranger = () => `0x${(++strangers).toString(16).padStart(40, 'c')}`

async function openTwo(t: Test, anvil: AnvilNode) {
  return [await openBetween(t, anvil), await openBetween(t, anvil)] as const
}

t.test('state of a block that left the chain', { skip }, async (t) => {
  const one = await startAnvil(t, makeFolder(t))
  const other = await startAnvil(t, makeFolder(t))
  const nodes = await openTwo(t, one)
  const orphan = await one.mine(3)
  const service = await startGateway(t, makeFolder(t), { urls: nodes.map(({ url }) => url) })
  await reaches(service, orphan)
  for (const node of nodes) node.answer = between(other)
  await reaches(service, await other.mine(5))
  const at = { blockHash: orphan.hash }
  const balance = (who: string, id: unknown) => service.call('eth_getBalance', [who, id])

  await t.test('that no node has any more is refused, and other reads go on', async (t) => {
    for (let round = 0; round < 20; round++) {
      const [gone, here] = await Promise.all([balance(stranger(), at), balance(stranger(), 'latest')])
      t.match(gone.error?.message, /^no upstream gave the state of block 0x/)
      t.equal(here.result, '0x0')
    }
    t.notMatch(service.said.err, 'lied')
  })

  await t.test('that a node still has is proved by it', async (t) => {
    const asked: NodeCall[] = []
    const newer = between(other)
    const older = between(one)
    nodes[1].answer = (call) => {
      if (!JSON.stringify(call.params).includes(orphan.hash)) return newer(call)
      asked.push(call)
      return older(call)
    }
    const from = String((await one.ask('eth_accounts'))[0])
    t.equal((await balance(from, at)).result, await one.ask('eth_getBalance', [from, at]))
    t.ok(asked.some(({ method }) => method === 'eth_getProof'))
    t.notMatch(service.said.err, 'lied')
  })
})

t.test('state of a block above the head, by its hash', { skip }, async (t) => {
  const anvil = await startAnvil(t, makeFolder(t))
  const nodes = await openTwo(t, anvil)
  const head = await anvil.mine(2)
  for (const node of nodes) {
    node.answer = between(anvil, (call, answer) => (call.params[0] === 'latest' ? { result: head } : answer))
  }
  const service = await startGateway(t, makeFolder(t), { urls: nodes.map(({ url }) => url) })
  await reaches(service, head)
  const newer = await anvil.mine(2)
  const from = String((await anvil.ask('eth_accounts'))[0])
  const params = [from, { blockHash: newer.hash }]
  t.equal((await service.call('eth_getBalance', params)).result, await anvil.ask('eth_getBalance', params))
  await reaches(service, head)
})

t.test('a node that is behind did not lie', { skip }, async (t) => {
  const anvil = await startAnvil(t, makeFolder(t))
  const nodes = await openTwo(t, anvil)
  const head = await anvil.mine(2)
  const service = await startGateway(t, makeFolder(t), {
    urls: nodes.map(({ url }) => url),
    requestMsMax: 2_000,
  })
  await reaches(service, head)
  const [newer, behind] = nodes
  await anvil.mine(1)
  const block = await anvil.ask('eth_getBlockByNumber', ['latest', false])
  const [transaction] = block.transactions
  const isAbout = ({ params }: NodeCall, hash: string) => params[0] === hash
  // One node returns the transaction's location without its block; the other node has neither yet.
  newer.weather = (calls) => (calls.some((call) => isAbout(call, block.hash)) ? { kind: 'drop' } : fine)
  behind.answer = between(anvil, (call, answer) => {
    if (call.params[0] === 'latest') return { result: head }
    if (call.method === 'debug_getRawReceipts') return { result: [] }
    return isAbout(call, transaction) || isAbout(call, block.hash) ? { result: null } : answer
  })
  for (let round = 0; round < 5; round++) {
    const { result, error } = await service.call('eth_getTransactionByHash', [transaction])
    if (error === undefined) t.equal(result, null)
    else t.match(error.message, /^(no upstream |request timed out)/)
  }
  const receipts = () => service.call('eth_getBlockReceipts', [{ blockHash: block.hash }])
  newer.weather = () => fine
  newer.answer = behind.answer
  await waitFor('the word of both', async () => (await receipts()).result === null)
  // For missing receipts the other node returns go-ethereum's message. A report that no node has them is not cached for
  // long.
  newer.answer = between(anvil)
  await waitFor('the block', async () => (await receipts()).result?.[0]?.transactionHash === transaction)
  t.notMatch(service.said.err, 'lied')
})
