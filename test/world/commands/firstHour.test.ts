/** The first hour of a user: runs every command on the first pages of the documentation. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { ConsoleSession, without } from '../../service/consoleBlocks.js'
import { freePorts } from '../../service/ports.js'
import { startService } from '../../service/service.js'
import { anvilGenesis } from '../../upstream/anvilNode.js'

const devnet = (name: string) => join(packageRoot(), 'data/devnet', name)
const archive = join(packageRoot(), '../shared/data/sepolia-00021-b8814b14.era1')

/** Ports of this run in place of those on the pages. */
async function portEdits(): Promise<[from: string | RegExp, to: string][]> {
  const [port, admin, node] = (await freePorts(3)) as [number, number, number]
  return [
    // This copy has its packages already.
    [/npm ci( && )?/g, ''],
    [/^npm start$/g, `npm start -- --port ${port} --admin-port ${admin}`],
    [/( serve )/g, ` serve --port ${port} --admin-port ${admin} `],
    ['127.0.0.1:8545', `127.0.0.1:${port}`],
    ['127.0.0.1:8550', `127.0.0.1:${admin}`],
    ['9545', String(node)],
  ]
}

/** The archive, if it is available. */
const archiveFile = existsSync(archive) ? { 'sepolia-00021-b8814b14.era1': archive } : {}

const needsArchive = (command: string) => /sepolia/.test(command) && without(archive)

t.test('README.md', async (t) => {
  const session = new ConsoleSession(t, {
    edits: await portEdits(),
    files: archiveFile,
  })
  await session.follow(t, 'README.md', needsArchive)
})

t.test('docs/getting-started.md', async (t) => {
  const session = new ConsoleSession(t, { edits: await portEdits() })
  await session.follow(t, 'docs/getting-started.md')
})

t.test('docs/own-chain.md', async (t) => {
  const session = new ConsoleSession(t, {
    edits: await portEdits(),
    files: {
      'genesis.json': devnet('genesis.json'),
      'chain.rlp': devnet('chain.rlp'),
      ...archiveFile,
    },
  })
  await session.follow(t, 'docs/own-chain.md', needsArchive)
})

t.test('docs/in-front-of-a-node.md', async (t) => {
  const session = new ConsoleSession(t, {
    edits: await portEdits(),
    files: { 'genesis.json': writeInto(makeFolder(t), 'genesis.json', anvilGenesis()) },
  })
  await session.follow(t, 'docs/in-front-of-a-node.md', (command) => {
    return /era1/.test(command) && 'importBeneath.test.ts does, with archives'
  })
})

t.test('docs/gateway.md', async (t) => {
  const upstream = await startService()
  t.teardown(() => upstream.stop())
  const session = new ConsoleSession(t, {
    edits: [
      ...(await portEdits()),
      ['--upstream https://rpc.example.org/KEY ', ''],
      [/http:\/\/127.0.0.1:\d+ --no-auth/g, `${upstream.origin} --no-auth`],
    ],
  })
  await session.follow(t, 'docs/gateway.md', (command) => {
    return /era1/.test(command) && 'importBeneath.test.ts does, with archives'
  })
})

t.test('docs/api-keys.md', async (t) => {
  const session = new ConsoleSession(t, { edits: await portEdits() })
  await session.follow(t, 'docs/api-keys.md')
})
