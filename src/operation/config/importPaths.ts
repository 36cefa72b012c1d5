import { statSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../../primitives/faults.js'
import { namesIn } from '../../primitives/isThere.js'

/** Names of archives of history end so. */
const archivePattern = /\.(?:era1|ere)$/

/** The archives of a folder, by name, which is their order; a file as it is. Throws UsageError for a folder without any. */
export function archivesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  const names = namesIn(path).filter((name) => archivePattern.test(name))
  if (names.length === 0) throw new UsageError(`the folder ${path} has no archives (.era1, .ere); name files`)
  return names.sort().map((name) => join(path, name))
}

/** Whether all files are archives. Throws UsageError where only some are. */
export function isArchiveImport(paths: readonly string[]): boolean {
  const archives = paths.filter((path) => archivePattern.test(path))
  if (archives.length === 0 || archives.length === paths.length) return archives.length > 0
  const other = paths.find((path) => !archivePattern.test(path))
  throw new UsageError(
    `${other} is no archive (.era1, .ere); import chain files and archives one after the other`,
  )
}
