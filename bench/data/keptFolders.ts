/**
 * Folders that are made once and kept outside the repository, in the cache folder of the benchmarks, under names with all
 * that they depend on. Unfinished ones are never used.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** `TIDEGATE_BENCH_CACHE`, or a folder in the user's cache. */
function cacheFolder(): string {
  const { TIDEGATE_BENCH_CACHE, XDG_CACHE_HOME } = process.env
  return TIDEGATE_BENCH_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tidegate-bench')
}

/** In the names of folders that a run, a process with its children, has begun and not finished. */
const draftMark = (run: string | number) => `.draft-${run}-`

/** Removes folders that an ended run has begun; `run` is its TIDEGATE_BENCH_RUN. */
export function removeDrafts(run: string): void {
  if (!existsSync(cacheFolder())) return
  for (const name of readdirSync(cacheFolder())) {
    if (name.includes(draftMark(run))) rmSync(join(cacheFolder(), name), { recursive: true, force: true })
  }
}

/** Path of the kept folder of this key, whether it exists or not. */
export function keptPath(key: string): string {
  return join(cacheFolder(), key)
}

/** Path of the cached folder of this key. `make` fills it if it is absent, and `what` names that work. */
export async function keptFolder(
  key: string,
  what: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = keptPath(key)
  if (existsSync(folder)) return folder
  mkdirSync(cacheFolder(), { recursive: true })
  const startedAtMs = Date.now()
  console.error(`${what}, once; it is kept in ${folder} …`)
  const draft = mkdtempSync(folder + draftMark(process.env.TIDEGATE_BENCH_RUN ?? process.pid))
  try {
    await make(draft)
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    throw error
  }
  console.error(`  done in ${Math.round((Date.now() - startedAtMs) / 1000)} s`)
  return folder
}
