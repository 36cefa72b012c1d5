import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { checkRefusals } from '../../rpc/questions.js'
import { startService } from '../../service/service.js'

const method = 'web3_clientVersion'
const service = await startService()
t.teardown(() => service.stop())

t.test('name, version of the package, platform and runtime', async (t) => {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  const { platform, arch, versions } = process
  const { result } = await service.call(method)
  t.equal(result, `Tidegate/v${version}/${platform}-${arch}/node${versions.node}`)
})

t.test('parameters are refused', async (t) => {
  await checkRefusals(t, service, method, [
    [['latest'], -32602, 'too many arguments, want at most 0'],
    [{}, -32602, 'non-array args: params must be an array'],
  ])
})
