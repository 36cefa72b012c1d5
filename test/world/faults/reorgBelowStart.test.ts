// @shares
/**
 * A chain that leaves the first block of a store is refused with its reason. The stored blocks stay, and the server
 * continues.
 */
import { join } from 'node:path'
import t from 'tap'
import { bytesToHex } from '../../../src/primitives/bytes.js'
import { makeReplayedChain } from '../../ingest/replayedChain.js'
import { Steps } from '../../ingest/steppedReplay.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { runHere, runProgram } from '../../service/program.js'
import { startService } from '../../service/service.js'

const from = 4
const start = 12
/** The node leaves block 10 after block 16, for eight blocks, and returns. */
const reorganisation = { after: 16, back: 6, blocks: 8 }
const length = 20

t.test('a reorganisation below the start', async (t) => {
  const chain = await makeReplayedChain(t, { length, from, intervalMs: 1, reorganisations: [reorganisation] })
  const genesis = join(chain.configPath, '../genesis.json')
  const folder = makeFolder(t)
  const data = makeFolder(t)
  const steps = await Steps.listen(t)
  const node = await chain.start(steps.env())
  t.teardown(() => node.stop())
  await steps.next(14 - from)
  const hashOf = (number: number) => bytesToHex(chain.blocks[number - 1]?.hash as Uint8Array)
  const store = ['--data', data, '--network', 'x']
  const imported = await runProgram([
    ...['import', ...store, '--genesis', genesis, '--state-from', node.origin, '--hash', hashOf(start)],
  ])
  t.equal(imported.status, 0, imported.err)
  const service = await startService([...store, '--no-auth', '--follow', node.origin])
  t.teardown(() => service.stop())
  const headOf = async () => (await service.call('eth_getBlockByNumber', ['latest', false])).result.hash
  const reaches = (number: number) =>
    waitFor(`block ${number}`, async () => (await headOf()) === hashOf(number))
  await steps.next(reorganisation.after - 14)
  await reaches(16)
  const [branch = []] = chain.branches
  for (const { number } of branch) {
    await steps.next()
    t.equal(await headOf(), hashOf(16), `block ${number} of the branch is not followed`)
  }
  await waitFor('the reason', () =>
    /parts from ours below block 12, at which this store begins: it has 1[123] \(0x\w+\)/.test(
      service.said.err,
    ),
  )
  t.notMatch(service.said.err, /lied/)
  await steps.next(length - reorganisation.after)
  await reaches(length)
  await service.stop()
  const file = writeInto(folder, 'branch.rlp', Buffer.concat(branch.map(({ rlp }) => rlp)))
  const { status, err } = await runProgram(['import', ...store, file])
  t.equal(status, 1)
  t.match(err, /it is of a chain that parts below block 12 \(0x\w+\), at which this store begins/)
  const verified = await runHere(['verify', ...store])
  t.match(verified.out, /No fault found/)
})
