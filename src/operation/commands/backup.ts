/**
 * `tidegate backup`, `snapshot` and `restore`: a data folder, or the store of one network, copied while it is in use,
 * and made again from that copy. A copy has the layout of a data folder, with a manifest beside it.
 */
import { rmSync, statSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import {
  assertRoomFor,
  copyFile,
  copyStore,
  digestFile,
  draftFolder,
} from '../../data/store/lmdb/copyFiles.js'
import {
  type Manifest,
  type ManifestFile,
  readManifest,
  readStoredChain,
  type StoredChain,
  writeManifest,
} from '../../data/store/manifest.js'
import { schemaVersion } from '../../data/store/tables.js'
import { OperatorError } from '../../primitives/faults.js'
import { isThere, makeFolder } from '../../primitives/files.js'
import { version } from '../../primitives/version.js'
import type { DataConfig, NetworkStoreConfig, StoresConfig } from '../config/config.js'
import { bar, createProgressView, logLine, type ProgressView } from '../process/progressView.js'
import { type Io, untilInterrupted } from '../process/terminal.js'

/** A file of the data folder, by its path in it. */
interface Source {
  /** Path with its slashes. */
  readonly path: string
  readonly isStore: boolean
}

/**
 * Copies all stores of a data folder, and the secrets that the node store needs, to the new folder `to`. Each store is
 * copied as of one moment; two stores are of different moments.
 */
export async function backUp(config: StoresConfig, to: string, io: Io): Promise<number> {
  const { node, networks, dataDir } = config
  const { store, ...secrets } = node
  const stores = [store, ...networks.map(({ storePath }) => storePath)]
  const sources = [...sourcesOf(dataDir, stores, true), ...sourcesOf(dataDir, Object.values(secrets), false)]
  if (sources.length === 0) {
    throw new OperatorError(`there is no store under ${dataDir}; check --data`)
  }
  const contents = await copyTo(to, sources, config, 'backup', io)
  io.out([`Backed up ${dataDir} to ${to}:`, ...contents].join('\n'))
  return 0
}

/** Copies only the store of one network, to the new folder `to`. */
export async function takeSnapshot(config: NetworkStoreConfig, to: string, io: Io): Promise<number> {
  const { dataDir, network } = config
  const contents = await copyTo(to, sourcesOf(dataDir, [network.storePath], true), config, 'snapshot', io)
  io.out([`Copied the store of ${network.name} to ${to}:`, ...contents].join('\n'))
  return 0
}

/** Makes the folder `to` of copies and their manifest; resolves to lines that describe its content. */
async function copyTo(
  to: string,
  sources: readonly Source[],
  { dataDir, mapBytes }: DataConfig,
  event: string,
  io: Io,
): Promise<string[]> {
  const chains: Record<string, StoredChain> = {}
  const files: ManifestFile[] = []
  await fillFolder(to, event, io, async (folder, view, stop) => {
    const bytes = sources.map(({ path }) => statSync(join(dataDir, path)).size)
    assertRoomFor(
      bytes.reduce((sum, each) => sum + each, 0),
      folder,
    )
    for (const { path, isStore } of sources) {
      const from = join(dataDir, path)
      const copy = join(folder, path)
      makeFolder(dirname(copy), 0o700)
      if (!isStore) {
        const onCopied = (done: number) => view.update({ what: path, done })
        files.push({ path, ...(await copyFile(from, copy, onCopied, stop)) })
        continue
      }
      await copyStore({ path: from, mapBytes }, copy, (done) => view.update({ what: path, done }), stop)
      const [top, network = ''] = path.split('/')
      const chain = top === 'node' ? undefined : readStoredChain(copy, mapBytes)
      if (chain !== undefined) chains[network] = chain
      rmSync(`${copy}-lock`, { force: true })
      const digest = await digestFile(
        copy,
        (done) => view.update({ what: `checksum of ${path}`, done }),
        stop,
      )
      files.push({ path, ...digest })
    }
    writeManifest(folder, { madeBy: version, madeAt: new Date().toISOString(), chains, files })
  })
  return contentLines(chains, files)
}

/** The existing ones of these files. */
function sourcesOf(dataDir: string, paths: readonly string[], isStore: boolean): Source[] {
  return paths
    .filter((path) => isThere(path) && statSync(path).size > 0)
    .map((path) => ({ path: relative(dataDir, path).split(sep).join('/'), isStore }))
}

/**
 * Makes a data folder from a backup, or the folder of its network from a snapshot, after checking all of it. Throws
 * OperatorError if that folder is not empty, and for a copy that is incomplete, damaged or of a newer version.
 */
export async function restore({ dataDir }: DataConfig, from: string, io: Io): Promise<number> {
  const { chains, files, madeAt } = readManifest(from)
  for (const { path, bytes } of files) {
    const found = statSync(join(from, path), { throwIfNoEntry: false })?.size
    if (found !== bytes)
      throw damaged(join(from, path), found === undefined ? 'missing' : 'of another length')
  }
  for (const [name, chain] of Object.entries(chains)) assertReadable(name, chain)
  const root = rootOf(files)
  const target = join(dataDir, root)
  await fillFolder(target, 'restore', io, async (folder, view, stop) => {
    assertRoomFor(
      files.reduce((sum, { bytes }) => sum + bytes, 0),
      folder,
    )
    for (const { path, sha256 } of files) {
      const copy = join(folder, posix.relative(root, path))
      makeFolder(dirname(copy), 0o700)
      const made = await copyFile(join(from, path), copy, (done) => view.update({ what: path, done }), stop)
      if (made.sha256 !== sha256) throw damaged(join(from, path), 'not the one of the manifest')
    }
  })
  io.out([`Restored ${target} as of ${madeAt}:`, ...contentLines(chains, files)].join('\n'))
  return 0
}

/** The folder of a copy within a data folder: that of the network for a snapshot, all of it for a backup. */
function rootOf(files: readonly ManifestFile[]): string {
  const [folder = '', other] = new Set(files.map(({ path }) => posix.dirname(path)))
  return other === undefined && folder.startsWith('networks/') ? folder : ''
}

function damaged(path: string, how: string): OperatorError {
  return new OperatorError(`the backup is damaged: ${path} is ${how}; use another one`)
}

function assertReadable(name: string, { schema }: StoredChain): void {
  if (schema === schemaVersion) return
  throw new OperatorError(
    `the store of network ${name} has schema ${schema}, and this version of tidegate reads ${schemaVersion}; use the version that made it`,
  )
}

/** Makes a folder by `fill`; if that rejects, or the process is asked to stop, removes it again. */
async function fillFolder(
  name: string,
  event: string,
  io: Io,
  fill: (folder: string, view: ProgressView<CopyProgress>, stop: AbortSignal) => Promise<void>,
): Promise<void> {
  const draft = draftFolder(name)
  const view = copyView(event, io)
  await untilInterrupted(io, 'stopped; nothing was kept', async (stop) => {
    try {
      await fill(draft.path, view, stop)
      draft.finish()
    } catch (error) {
      draft.abandon()
      throw error
    } finally {
      view.clear()
    }
  })
}

function contentLines(chains: Manifest['chains'], files: readonly ManifestFile[]): string[] {
  return files.map(({ path, bytes }) => {
    const head = chains[path.split('/')[1] ?? '']?.head
    const size = bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${Math.round(bytes / 2 ** 20)} MiB`
    return `  ${path}: ${size}${head && path.startsWith('networks/') ? `, block ${head.number} ${head.hash}` : ''}`
  })
}

/** Progress of the work on a file, such as its copy: a share from 0 to 1. */
interface CopyProgress {
  readonly what: string
  readonly done: number
}

function copyView(event: string, io: Io): ProgressView<CopyProgress> {
  return createProgressView(
    ({ what, done }) => `${event} ${bar(done)}  ${what}`,
    ({ what, done }) => ({ event, what, done: Math.round(done * 1_000) / 1_000 }),
    (fields) => io.err(logLine(fields)),
  )
}
