/**
 * What a script of a Hardhat project does first, with the real package and the network as one with a `url`. Hardhat
 * takes 68 MB, most of it for what such a network does not use, so it is installed into a temporary folder, and only
 * with HARDHAT=1. What it sends stands in hardhat.json, which wireCalls.test.ts replays always.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder } from '../service/program.js'
import { startService } from '../service/service.js'
import { facts } from './everyday.js'
import { runScript } from './runScript.js'

const skip = process.env.HARDHAT !== '1' && 'HARDHAT=1 installs hardhat 2 (68 MB) and runs it'

t.test('a script reads blocks, accounts, contracts, logs and fees', { skip }, async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const folder = makeFolder(t)
  cpSync(join(packageRoot(), 'test/clients/hardhat'), folder, { recursive: true })
  const flags = ['--ignore-scripts', '--omit=optional', '--no-package-lock', '--no-audit', '--no-fund']
  await runScript(['npm', 'install', ...flags], { cwd: folder })
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
