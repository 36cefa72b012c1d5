// @shares
// @installs
/**
 * The first calls of a script of a Hardhat project, with the real packages and the network as one with a `url`. Hardhat
 * 2 takes 68 MB and Hardhat 3 127 MB, mostly for unused parts. So they are installed into a temporary folder, and only
 * with HARDHAT=1. Their calls are in hardhat.json, which wireCalls.test.ts always replays.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { facts } from '../../clients/everyday.js'
import { runScript } from '../../clients/runScript.js'
import { makeFolder } from '../../library/folder.js'
import { owner, startSigners, stranger } from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

const skip = process.env.HARDHAT !== '1' && 'HARDHAT=1 installs hardhat 2 and 3 (195 MB) and runs them'

const flags = ['--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund']

function copyProject(t: Test, name: string): string {
  const folder = makeFolder(t)
  cpSync(join(packageRoot(), 'test/clients', name), folder, { recursive: true })
  return folder
}

t.test('a script reads blocks, accounts, contracts, logs and fees', { skip }, async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const folder = copyProject(t, 'hardhat')
  await runScript(['npm', 'install', '--omit=optional', ...flags], { cwd: folder })
  const { tide, bea, transaction } = facts
  const out = await runScript(
    ['npx', 'hardhat', '--network', 'tidegate', 'run', '--no-compile', 'reads.cjs'],
    {
      cwd: folder,
      env: {
        TIDEGATE_URL: service.origin,
        FACTS: JSON.stringify({ tide, bea, hash: transaction.hash }),
        HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true',
      },
    },
  )
  const found = JSON.parse(out.trim().split('\n').at(-1) ?? '')
  t.match(found, {
    chainId: String(facts.chainId),
    head: facts.head.hash,
    balance: '0',
    nonce: 0,
    supply: String(facts.totalSupply),
    code: /^0x60/,
    block: Number(facts.transaction.blockNumber),
    estimate: '21000',
    sending: /no upstream to send transactions to/,
  })
  t.ok(found.full > 0 && found.transfers > 100)
  t.ok(BigInt(found.gasPrice) > facts.headBaseFee)
})

t.test('Hardhat 3: a developer chain signs for remote accounts', { skip }, async (t) => {
  const service = await startSigners(t)
  const cwd = copyProject(t, 'hardhat3')
  const env = { TIDEGATE_URL: service.origin, TO: stranger, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' }
  const on22 = (command: string) => runScript(['npx', '-y', '-p', 'node@22', '-c', command], { cwd, env })
  await on22(`npm install ${flags.join(' ')}`)
  const out = await on22(
    'node node_modules/hardhat/dist/src/cli.js --network tidegate run --no-compile sends.js',
  )
  const { accounts, ...found } = JSON.parse(out.trim().split('\n').at(-1) ?? '')
  t.strictSame(found, {
    from: owner.address,
    status: 1,
    balance: '5',
    code: '0x602a60005260206000f3',
    signer: owner.address,
  })
  t.equal(accounts[0], owner.address.toLowerCase())
})
