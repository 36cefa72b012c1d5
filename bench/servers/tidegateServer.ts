/** Starts Tidegate on existing networks, each in a process of its own with its own data folder. */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NodeStore } from '../../src/data/store/node/nodeStore.js'
import { addToken, createKey } from '../../src/serving/access/keyChanges.js'
import { KeyChecker } from '../../src/serving/access/keyChecker.js'
import { verifierOfPublicKey } from '../../src/serving/access/tokens.js'
import { type BenchNetwork, programPath } from '../data/networks.js'
import { onServerCore, type ServerProcess, startServer } from './serverProcess.js'

export interface TidegateOptions {
  /** Members of the configuration's `limits`. */
  readonly limits?: Readonly<Record<string, number>>
  /** Entries of the configuration's `networks` besides the existing ones. */
  readonly moreNetworks?: readonly object[]
  /** Flags of Node.js itself. */
  readonly nodeFlags?: readonly string[]
  /** Main file of the program; if absent, that of this checkout. */
  readonly program?: string
  /** Names of API keys to create; without any, none is required. */
  readonly keyNames?: readonly string[]
  /** PEM text of the public key that signs tokens for each of these keys; if absent, there are no tokens. */
  readonly signer?: string
  /** Number of listening threads; if absent, one. */
  readonly edges?: number
  /** Assigns the command line to cores; if absent, to the servers' core ({@link onServerCore}). */
  readonly onCores?: (command: readonly string[]) => readonly string[]
}

/** `said` is the base URL of the process. */
export interface TidegateProcess extends ServerProcess {
  /** URLs with the requested keys, in their order. */
  readonly keyedUrls: readonly string[]
  /** Ids of these keys. */
  readonly keyIds: readonly string[]
}

/** Every answer is computed again: no rendered answer, proof or upstream answer is cached. */
export const withoutCaches = { answerCacheBytes: 0, proofCacheBytes: 0, memoBytes: 0 } as const

/** `folder` is the run's own and contains the server's data. The server prints its URL. */
export async function startTidegate(
  folder: string,
  networks: readonly BenchNetwork[],
  options: TidegateOptions = {},
): Promise<TidegateProcess> {
  const home = mkdtempSync(join(folder, 'tidegate-'))
  mkdirSync(join(home, 'data/networks'), { recursive: true })
  for (const network of networks) symlinkSync(network.folder, join(home, 'data/networks', network.name))
  const config = {
    networks: [
      ...networks.map(({ name, genesisPath }) => ({ name, genesis: genesisPath })),
      ...(options.moreNetworks ?? []),
    ],
    limits: options.limits ?? {},
    edges: options.edges ?? 1,
  }
  const configPath = join(home, 'tidegate.json')
  writeFileSync(configPath, JSON.stringify(config))
  const keys = await makeKeys(join(home, 'data/node'), options.keyNames ?? [], options.signer)
  const flags = ['--config', configPath, '--data', join(home, 'data'), '--port', '0']
  if (keys.length === 0) flags.push('--no-auth')
  const server = await startServer(
    [
      process.execPath,
      ...(options.nodeFlags ?? []),
      options.program ?? programPath,
      'serve',
      ...flags,
      '--log-level',
      'error',
    ],
    /listens on (http:\S+)/,
    options.onCores ?? onServerCore,
  )
  return {
    ...server,
    keyedUrls: keys.map(({ text }) => new URL(`/v3/${text}`, server.said).href),
    keyIds: keys.map(({ id }) => id),
  }
}

/** Creates keys in the folder from which the server reads them. */
async function makeKeys(
  folder: string,
  names: readonly string[],
  signer: string | undefined,
): Promise<{ readonly text: string; readonly id: string }[]> {
  if (names.length === 0) return []
  const store = NodeStore.open({ path: join(folder, 'node.mdb') })
  try {
    const paths = { pepper: join(folder, 'pepper'), demoKey: join(folder, 'demo-key') }
    const ring = KeyChecker.open(store, paths)
    const verifier = signer === undefined ? undefined : verifierOfPublicKey(signer)
    return names.map((name) => {
      const { text, key } = createKey(store, ring.pepper, { name }, 'bench')
      if (verifier !== undefined) addToken(store, name, verifier, 'bench')
      return { text, id: key.id }
    })
  } finally {
    await store.close()
  }
}
