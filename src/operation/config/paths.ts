/** Members of the configuration file that are paths, relative to its folder. */
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import * as z from 'zod'
import { UsageError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/files.js'
import { redactUrl } from '../../primitives/urls.js'

/** A path in a check of the raw file: one of the wrong type is left out, since the schema reports it. */
export const rawPath = z.string().min(1).optional().catch(undefined)

type NamesOf<T> = T extends unknown ? keyof T & string : never

/** The same value, with absolute paths for those of its members `names` that are given. */
export function withAbsolute<T extends object>(value: T, folder: string, ...names: readonly NamesOf<T>[]): T {
  const given = Object.entries(value).filter(
    ([name, path]) => path !== undefined && names.includes(name as NamesOf<T>),
  )
  return { ...value, ...Object.fromEntries(given.map(([name, path]) => [name, resolve(folder, path)])) }
}

/** Named files that are missing, or are folders. Each line begins with the path of the member that names the file. */
export function findMissingFiles(
  files: Readonly<Record<string, string | undefined>>,
  folder: string,
): string[] {
  return Object.entries(files).flatMap(([name, file]) => {
    if (file === undefined) return []
    const path = resolve(folder, file)
    if (!existsSync(path)) return [`${name}: there is no file ${path}`]
    return statSync(path).isDirectory() ? [`${name}: ${path} is a folder, and a file is needed`] : []
  })
}

/**
 * The absolute path of a file or folder that the command line names. Throws UsageError if there is none, and for a URL;
 * OperatorError if access is denied.
 */
export function existingPath(path: string): string {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) {
    throw new UsageError(`${redactUrl(path)} is a URL, and a file is needed; download it and name that file`)
  }
  const absolute = resolve(path)
  if (!isThere(absolute)) throw new UsageError(`there is no file ${absolute}; check its path`)
  return absolute
}

/** Like {@link existingPath}, but for files only. */
export function existingFile(path: string): string {
  const absolute = existingPath(path)
  if (!statSync(absolute).isDirectory()) return absolute
  throw new UsageError(`${absolute} is a folder, and a file is needed; name one in it`)
}
