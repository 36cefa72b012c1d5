/**
 * What a script of a Hardhat project does first, with the real package and the network as one with a `url`. Hardhat
 * takes 68 MB, most of it for what such a network does not use, so it is installed into a temporary folder, and only
 * with HARDHAT=1. What it sends stands in hardhat.json, which wireCalls.test.ts replays always.
 */
import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder } from '../program.js'
import { startService } from '../service.js'
import { inTime } from '../until.js'
import { facts } from './everyday.js'

const skip = process.env.HARDHAT !== '1' && 'HARDHAT=1 installs hardhat 2 (68 MB) and runs it'

function run(cwd: string, words: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const ended = new Promise<string>((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
    execFile(words[0] ?? '', words.slice(1), options, (error, out, err) =>
      error === null ? resolve(out) : reject(new Error(`${words.join(' ')}: ${out}${err}`)),
    )
  })
  return inTime(words.join(' '), ended)
}

t.test('a script reads blocks, accounts, contracts, logs and fees', { skip }, async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const folder = makeFolder(t)
  cpSync(join(packageRoot(), 'test/clients/hardhat'), folder, { recursive: true })
  const flags = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund']
  await run(folder, ['npm', 'ci', ...flags], {})
  const { tide, bea, transaction } = facts
  const out = await run(
    folder,
    ['npx', 'hardhat', '--network', 'tidegate', 'run', '--no-compile', 'reads.cjs'],
    {
      TIDEGATE_URL: service.origin,
      FACTS: JSON.stringify({ tide, bea, hash: transaction.hash }),
      HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true',
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
