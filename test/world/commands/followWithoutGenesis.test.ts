/** A follower without a genesis file: the genesis that nodes report, and the error if they report none. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { examples, genesisPath, headBlock } from '../../rpc/demoChain.js'
import { runProgram } from '../../service/program.js'
import { startService } from '../../service/service.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'
import { reaches } from '../../upstream/followedNode.js'
import { forwardTo, type NodeAnswer, type NodeCall, WeatherNode } from '../../upstream/weatherNode.js'

const flagsOf = (url: string, data: string) => [
  '--network',
  'dev',
  '--follow',
  url,
  '--data',
  data,
  '--no-auth',
]

async function follow(t: Test, url: string, data = makeFolder(t)) {
  const service = await startService(flagsOf(url, data))
  t.teardown(() => service.stop())
  return service
}

for (const fork of someOf(['prague', 'osaka', 'cancun', undefined], 1)) {
  const flags = fork === undefined ? [] : ['--hardfork', fork]
  t.test(`anvil's own genesis: ${fork ?? 'its default fork'}`, { skip: withoutAnvil }, async (t) => {
    const anvil = await startAnvil(t, makeFolder(t), null, ['--chain-id', '4242', ...flags])
    const data = makeFolder(t)
    const service = await follow(t, anvil.url, data)
    await reaches(service, await anvil.mine(3))
    const [account] = await anvil.ask('eth_accounts')
    for (const block of ['0x0', '0x1', 'latest']) {
      const { result } = await service.call('eth_getBalance', [account, block])
      t.equal(result, await anvil.ask('eth_getBalance', [account, block]), block)
    }
    t.match(
      service.said.err,
      /the genesis is the one that 127\.0\.0\.1:\d+ reports; its rules \(forks\) are not verified/,
    )
    await service.stop()
    const again = await follow(t, anvil.url, data)
    await reaches(again, await anvil.mine(1))
    t.notMatch(again.said.err, 'the genesis is the one')
  })
}

t.test('anvil of a genesis file, which it does not tell', { skip: withoutAnvil }, async (t) => {
  const anvil = await startAnvil(t, makeFolder(t))
  const { status, err } = await runProgram(['serve', '--port', '0', ...flagsOf(anvil.url, makeFolder(t))])
  t.equal(status, 1)
  t.match(err, /has another genesis state .*; name the file of its --init with --genesis/)
})

/** A node of the demo chain that reports its genesis like go-ethereum, in pages. */
async function startTelling(t: Test, change: (call: NodeCall, answer: NodeAnswer) => NodeAnswer) {
  const service = await startService()
  t.teardown(() => service.stop())
  const node = new WeatherNode(forwardTo(service.origin, change))
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  return node
}

interface Account {
  readonly balance: string
  readonly nonce?: string
  readonly code?: string
  readonly storage?: Readonly<Record<string, string>>
}

/** Two accounts a page; `next` names the page. */
function accountRange(start: string): NodeAnswer {
  const { alloc } = JSON.parse(readFileSync(genesisPath, 'utf8')) as { alloc: Record<string, Account> }
  const all = Object.entries(alloc).map(([address, { balance, nonce, code, storage = {} }]) => [
    address.startsWith('0x') ? address : `0x${address}`,
    {
      balance: BigInt(balance).toString(),
      nonce: Number(nonce ?? 0),
      ...(code !== undefined && { code }),
      storage: Object.fromEntries(Object.entries(storage).map(([slot, value]) => [slot, value.slice(2)])),
    },
  ])
  const from = start === '0x' ? 0 : Number(start)
  // go-ethereum before 1.17 writes this key as base64, and takes it as hex.
  const key = Buffer.from((from + 2).toString(16).padStart(64, '0'), 'hex').toString('base64')
  const next = from + 2 < all.length ? { next: key } : {}
  return { result: { accounts: Object.fromEntries(all.slice(from, from + 2)), ...next } }
}

t.test('a node that tells its rules and the state of block 0', async (t) => {
  const node = await startTelling(t, ({ method, params }, answer) =>
    method === 'debug_accountRange' ? accountRange(String(params[1])) : answer,
  )
  const service = await follow(t, node.url)
  await reaches(service, { number: headBlock.number, hash: headBlock.hash, parentHash: '' } as never)
  t.equal((await service.call('eth_getBlockByNumber', ['0x0', false])).result.hash, examples.genesisHash)
})

t.test('what it does not tell is to be given, and where it is', async (t) => {
  for (const [change, message] of [
    [
      ({ method }: NodeCall, answer: NodeAnswer) => {
        if (method === 'debug_accountRange') return { error: { code: -32601, message: 'no' } }
        return method === 'web3_clientVersion' ? { result: 'Geth/v1.17.6-stable' } : answer
      },
      /does not report the state of its genesis; name .*--genesis FILE \(.*geth dumpgenesis/,
    ],
    [
      ({ method }: NodeCall, answer: NodeAnswer) =>
        method === 'debug_chainConfig' || method === 'admin_nodeInfo'
          ? { error: { code: -32601, message: 'no' } }
          : answer,
      /does not report the rules of its chain; name .*\(the "genesis" of that network/,
    ],
    [
      ({ method, params }: NodeCall, answer: NodeAnswer) => {
        if (method !== 'debug_accountRange') return answer
        const page = accountRange(String(params[1])) as { result: { accounts: Record<string, object> } }
        const accounts = Object.entries(page.result.accounts).map(([at, each]) => [at, { ...each, nonce: 9 }])
        return { result: { ...page.result, accounts: Object.fromEntries(accounts) } }
      },
      /does not report its whole genesis; name/,
    ],
  ] as const) {
    const node = await startTelling(t, change)
    const { status, err } = await runProgram(['serve', '--port', '0', ...flagsOf(node.url, makeFolder(t))])
    t.equal(status, 1)
    t.match(err, message)
  }
})
