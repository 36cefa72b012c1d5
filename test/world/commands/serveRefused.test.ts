// @shares
/** Starts of a server that are refused in a sentence. */
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { checkSentence, makeDemoFolder, start } from '../../commands/serving.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { genesisPath } from '../../rpc/demoChain.js'
import { fixtureConfig, fixtureDir } from '../../service/fixtures.js'
import { copyDemoStore, runHere, runProgram } from '../../service/program.js'

t.test('a port in use is one sentence and status 1', async (t) => {
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  t.teardown(() => holder.close())
  const { port } = holder.address() as { port: number }
  const flags = ['--config', fixtureConfig, '--no-auth', '--port', String(port)]
  checkSentence(
    t,
    await runProgram(['serve', ...flags]),
    1,
    new RegExp(`annot listen on 127\\.0\\.0\\.1:${port}: choose another`),
  )
})

t.test('without keys, no address is taken that other machines can reach', async (t) => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.org']) {
    const outcome = await runHere(['serve', '--data', fixtureDir, '--no-auth', '--host', host])
    checkSentence(t, outcome, 2, /without API keys only this machine may be served/)
  }
})

t.test('a network without a store is named, with the command that makes one', async (t) => {
  const folder = makeFolder(t)
  checkSentence(
    t,
    await runProgram(['serve', '--data', folder, '--network', 'tides']),
    2,
    /there is no store of network tides under \S+; make one with: tidegate import --network tides/,
  )
  copyDemoStore(folder, 'tides')
  const { err } = await runHere(['serve', '--data', folder, '--network', 'tide'])
  t.match(err, /there is no store of network tide under \S+; did you mean tides\?/)
})

t.test('--history is refused where no network would heed it', async (t) => {
  const folder = makeFolder(t)
  const chain = join(folder, 'chain.rlp')
  writeInto(folder, 'chain.rlp', '')
  const source = { type: 'replay', file: chain, from: 0, intervalMs: 1_000 }
  const networks = [{ name: 'played', genesis: genesisPath, source }]
  const config = writeInto(folder, 'tidegate.json', { dataDir: 'data', networks })
  for (const words of [
    ['serve', '--data', folder, '--network', 'far', '--upstream', 'http://127.0.0.1:1'],
    ['serve', '--config', config],
    ['import', '--config', config, chain],
  ]) {
    const outcome = await runHere([...words, '--history', '100'])
    checkSentence(t, outcome, 2, /--history is for a network that executes blocks/)
  }
})

t.test('a configured network that was never imported says what to do', async (t) => {
  const folder = makeFolder(t)
  const config = writeInto(folder, 'tidegate.json', {
    dataDir: 'data',
    networks: [{ name: 'tides', genesis: genesisPath }],
  })
  const outcome = await runHere(['serve', '--config', config, '--port', '0', '--no-auth'])
  checkSentence(t, outcome, 1, /tidegate import/)
})

t.test('a configuration for another chain than the store is refused', async (t) => {
  const folder = makeFolder(t)
  copyDemoStore(`${folder}/data`, 'tides')
  const config = writeInto(folder, 'tidegate.json', {
    dataDir: 'data',
    networks: [{ name: 'tides', genesis: genesisPath, chainId: 1 }],
  })
  const outcome = await runProgram(['serve', '--config', config, '--port', '0', '--no-auth'])
  checkSentence(t, outcome, 1, /has chain id 8433, the configuration says 1/)
})

t.test('a store that is none is refused', async (t) => {
  for (const [content, run] of [
    ['', runHere],
    ['something else', runHere],
    [Buffer.alloc(100_000, 7), runProgram],
  ] as const) {
    const folder = makeFolder(t)
    copyDemoStore(folder, 'tides')
    writeInto(`${folder}/networks/tides`, 'chain.mdb', content)
    const flags = ['--data', folder, '--network', 'tides', '--no-auth', '--port', '0']
    checkSentence(t, await run(['serve', ...flags]), 1, /chain\.mdb/)
  }
})

t.test('beside a server', async (t) => {
  const folder = makeFolder(t)
  copyDemoStore(folder, 'tides')
  const { service } = await start(t, ['--data', folder, '--network', 'tides'])

  await t.test('no other takes its port', async (t) => {
    const { port } = new URL(service.origin)
    const flags = ['--config', fixtureConfig, '--no-auth', '--port', port]
    checkSentence(t, await runProgram(['serve', ...flags]), 1, /annot listen on/)
  })

  await t.test('no other makes the demo network before it finds the port taken', async (t) => {
    const data = join(makeFolder(t), 'data')
    const flags = ['--data', data, '--port', new URL(service.origin).port]
    for (const transport of ['auto', 'node']) {
      const outcome = await runProgram(['serve', ...flags, '--transport', transport])
      checkSentence(t, outcome, 1, /annot listen on/)
      t.notOk(existsSync(data), 'nothing was made')
    }
  })
})

t.test('several edges on node:http need a Node.js that can share a port', async (t) => {
  const flags = ['--data', await makeDemoFolder(t), '--no-auth', '--transport', 'node', '--edges', '2']
  const [major = 0] = process.versions.node.split('.').map(Number)
  if (major < 22) {
    const outcome = await runProgram(['serve', '--port', '0', ...flags])
    checkSentence(t, outcome, 1, /^tidegate: Several edges .* Node\.js 22\.12 or later/)
    return
  }
  const { service } = await start(t, flags)
  const asked = '{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[]}'
  for (let turn = 0; turn < 20; turn++) t.equal((await service.post('/', asked)).status, 200)
})
