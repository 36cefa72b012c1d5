// @installs
/**
 * Developer chains compared with anvil and Hardhat's node, and tests of contracts. Runs the sample project in Hardhat
 * 2's package, and compares the table of methods in docs/developer-chain.md with the columns of a run. HARDHAT=1
 * installs Hardhat with its toolbox into a temporary folder; without it, the columns of anvil and Tidegate are
 * compared. The calls by which Hardhat's signers send without an estimate are tested in eth_sendTransaction.test.ts.
 */
import { spawn } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { runScript } from '../../clients/runScript.js'
import { checkColumn, listedMethods, toolCalls } from '../../clients/toolMethods.js'
import { makeFolder } from '../../library/folder.js'
import { inTime, once } from '../../library/until.js'
import { startDev } from '../../service/developerChain.js'
import { startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'

const skip =
  process.env.HARDHAT !== '1' && 'HARDHAT=1 installs Hardhat 2 with its toolbox (540 MB) and runs it'
const quiet = { HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' }

t.test('each method of the page is called', async (t) => {
  t.ok(listedMethods.length > 40)
  t.strictSame([...listedMethods].sort(), Object.keys(toolCalls).sort())
})

t.test('the column of Tidegate is that of a run', async (t) => {
  const { url } = await startDev(t)
  await checkColumn(t, 'Tidegate', `${url}/`)
})

t.test('the column of anvil is that of a run', { skip: withoutAnvil }, async (t) => {
  const { url } = await startAnvil(t, makeFolder(t), null)
  await checkColumn(t, 'anvil', url)
})

t.test('Hardhat', { skip }, async (t) => {
  const cwd = makeFolder(t)
  cpSync(join(packageRoot(), 'test/clients/hardhatSample'), cwd, { recursive: true })
  const flags = ['--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund']
  await runScript(['npm', 'install', ...flags], { cwd })
  cpSync(join(cwd, 'node_modules/hardhat/sample-projects/javascript'), cwd, { recursive: true })
  const hardhat = ['npx', 'hardhat', '--config', 'local.config.cjs']

  t.test('the tests of its sample project pass, and Ignition deploys', async (t) => {
    const { url } = await startDev(t)
    const env = { ...quiet, TIDEGATE_URL: url }
    const tested = await runScript([...hardhat, 'test', '--network', 'localhost'], { cwd, env })
    t.match(tested, /^ {2}9 passing/m)
    t.notMatch(tested, /failing/)
    const deployed = [...hardhat, 'ignition', 'deploy', 'ignition/modules/Lock.js', '--network', 'localhost']
    t.match(await runScript(deployed, { cwd, env }), /LockModule#Lock - 0x/)
  })

  t.test('the column of its node is that of a run', async (t) => {
    const env = { ...process.env, ...quiet }
    const program = join(cwd, 'node_modules/hardhat/internal/cli/bootstrap.js')
    const child = spawn(process.execPath, [program, 'node', '--hostname', '127.0.0.1', '--port', '0'], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    const url = await inTime(
      "Hardhat's node to listen",
      new Promise<string>((resolve, reject) => {
        createInterface({ input: child.stdout }).on('line', (line) => {
          const at = /server at (http:\S+?)\/?$/.exec(line)?.[1]
          if (at !== undefined) resolve(at)
        })
        child.on('exit', (status) => reject(new Error(`Hardhat's node ended with ${status}`)))
      }),
    )
    await checkColumn(t, 'Hardhat', `${url}/`)
  })
})
