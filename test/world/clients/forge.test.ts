// @shares
/**
 * A script of forge that a developer chain signs for, with the real program. FORGE=1 installs it (81 MB) into a temporary
 * folder.
 */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { runScript } from '../../clients/runScript.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { owner, startSigners, walletOf } from '../../rpc/signers.js'

const version = '1.7.1'
const skip = process.env.FORGE !== '1' && `FORGE=1 installs forge ${version} (81 MB) and runs it`

t.test('forge script --unlocked deploys a contract and calls it', { skip }, async (t) => {
  const service = await startSigners(t)
  const folder = makeFolder(t)
  const files = join(packageRoot(), 'test/clients/forge')
  cpSync(files, join(folder, 'script'), { recursive: true })
  const solc = join(folder, 'script/solc.cjs')
  writeInto(folder, 'foundry.toml', `[profile.default]\nsrc = "src"\nsolc = "${solc}"\noffline = true\n`)
  writeInto(folder, 'package.json', { private: true })
  const flags = ['--no-package-lock', '--no-audit', '--no-fund']
  await runScript(['npm', 'install', ...flags, `@foundry-rs/forge@${version}`], { cwd: folder })
  const forge = ['npx', 'forge', 'script', 'script/Deploy.s.sol:Deploy', '--broadcast', '--unlocked']
  await runScript([...forge, '--sender', owner.address, '--rpc-url', service.origin], {
    cwd: folder,
    env: { TESTS_PACKAGE: join(packageRoot(), 'test/package.json') },
  })
  const run = readFileSync(join(folder, 'broadcast/Deploy.s.sol/7357/run-latest.json'), 'utf8')
  const { receipts } = JSON.parse(run)
  const from = owner.address.toLowerCase()
  t.match(receipts, [
    { status: '0x1', from },
    { status: '0x1', from },
  ])
  const [{ contractAddress }] = receipts
  const wallet = walletOf(service, owner.address)
  t.equal(BigInt((await wallet.getStorageAt({ address: contractAddress, slot: '0x0' })) ?? 0), 42n)
})
