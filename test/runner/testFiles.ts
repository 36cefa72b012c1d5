/**
 * The test files, by cost: `test/unit` starts no process and no socket, `test/server` shares one running server per
 * process, `test/world` starts processes. A file's first lines may have marks:
 *
 * - `// @scene WHAT`: in the world, `npm test` runs it too, as the one scene of its kind;
 * - `// @alone WHY`: it has a process of its own, although files of its folder share one;
 * - `// @shares`: in the world, it leaves no traces in its process, so that files share one;
 * - `// @clock WHAT`: it checks paces or medians, which a busy machine can upset.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'

export interface TestFile {
  /** `test/unit/….test.ts`, from the root of the repository. */
  readonly path: string
  readonly marks: ReadonlyMap<string, string>
  /** Length of the file, to estimate its duration. */
  readonly bytes: number
}

export const kinds = ['unit', 'server', 'world'] as const
type Kind = (typeof kinds)[number]

/** Number of files per process: with more, too few processes are left for all cores at the end. */
const filesOfProcess: Readonly<Record<Kind, number>> = { unit: 40, server: 35, world: 4 }

/** Marks must be within this many bytes from the start. */
const markBytes = 1_000

function readFile(path: string): TestFile {
  const text = readFileSync(join(packageRoot(), path), 'utf8')
  const found = text.slice(0, markBytes).matchAll(/^\/\/ @(\w+)(?: (.*))?$/gm)
  return {
    path,
    marks: new Map([...found].map(([, name = '', what = '']) => [name, what])),
    bytes: text.length,
  }
}

export const kindOf = ({ path }: TestFile) => kinds.find((kind) => path.startsWith(`test/${kind}/`))

/**
 * Test files for the arguments of the command line. These are files and folders of the source, relative to the current
 * folder or the root of the repository. Throws Error for a name without a test.
 */
export function findFiles(names: readonly string[]): TestFile[] {
  const paths = names.flatMap((name) => {
    const full = [resolve(name), join(packageRoot(), name)].find((each) =>
      statSync(each, { throwIfNoEntry: false }),
    )
    if (full === undefined) throw new Error(`there is no ${name}`)
    const below = statSync(full).isFile()
      ? [full]
      : readdirSync(full, { recursive: true, encoding: 'utf8' }).map((path) => join(full, path))
    const found = below.filter((path) => path.endsWith('.test.ts')).sort()
    if (found.length === 0) throw new Error(`${name} has no test; tests are called *.test.ts`)
    return found.map((path) => relative(packageRoot(), path).replaceAll('\\', '/'))
  })
  return [...new Set(paths)].map(readFile)
}

/** The files of `npm test`: all except the world, and one scene of each kind of the world. */
export const isQuick = (file: TestFile) => kindOf(file) !== 'world' || file.marks.has('scene')

/** Files in groups that share a process. */
export function inProcesses(files: readonly TestFile[]): TestFile[][] {
  const hasOwn = (file: TestFile) =>
    file.marks.has('alone') || (kindOf(file) === 'world' && !file.marks.has('shares'))
  return [
    ...files.filter(hasOwn).map((file) => [file]),
    ...kinds.toReversed().flatMap((kind) => {
      const sharing = files.filter((file) => kindOf(file) === kind && !hasOwn(file))
      const size = filesOfProcess[kind]
      const groups = Array.from({ length: Math.ceil(sharing.length / size) }, (): TestFile[] => [])
      // Neighbouring files go to different processes: neighbours take similar times, and one process would get all long
      // files.
      for (const [at, file] of sharing.entries()) groups[at % groups.length]?.push(file)
      return groups
    }),
  ]
}
