// @shares
/**
 * Proofs at every block of the chain that the execution-apis project recorded. The maintainers have it beside this
 * repository (`../shared/conformance/rpc-compat`). Skipped without it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { verifyAnswer } from '../../rpc/proofOracle.js'
import { checkRandomProofs, proofsPerBlock } from '../../rpc/randomProofs.js'
import { recordedConfig, recordings, withoutRecordings } from '../../service/fixtures.js'
import { startService } from '../../service/service.js'
import { recordedStorePath } from '../../store/storedMessages.js'

t.test('the recorded chain', { skip: withoutRecordings }, async (t) => {
  const service = await startService(['--config', recordedConfig, '--no-auth'])
  const store = ChainReader.open({ path: recordedStorePath })
  t.teardown(async () => {
    await service.stop()
    await store.close()
  })
  const head = Number((await service.call('eth_blockNumber')).result)
  const roots: string[] = []
  for (let number = 0; number <= head; number++) {
    const block = await service.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
    roots.push(block.result.stateRoot)
  }

  await t.test('recorded answers are repeated exactly', async (t) => {
    const folder = join(recordings, 'eth_getProof')
    for (const file of readdirSync(folder)) {
      const lines = readFileSync(join(folder, file), 'utf8').split('\n')
      const [request, answer] = ['>> ', '<< '].map((mark) =>
        lines.find((line) => line.startsWith(mark))?.slice(3),
      )
      const { text } = await service.post('/', request ?? '')
      t.equal(text, answer, file)
      verifyAnswer(roots.at(-1) ?? '', JSON.parse(text).result)
    }
  })

  await t.test(`${proofsPerBlock} random accounts with 3 slots are proven at every block`, async (t) => {
    const { present, absent, nonZero } = await checkRandomProofs(t, service, store, roots)
    t.ok(
      present > 10 * proofsPerBlock && absent > 10 * proofsPerBlock && nonZero > proofsPerBlock / 2,
      `${present}, ${absent}, ${nonZero}`,
    )
  })
})
