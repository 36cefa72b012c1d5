import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { UsageError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/isThere.js'
import { redactUrl } from '../../primitives/redactUrl.js'

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

/** As {@link existingPath}, for files only. */
export function existingFile(path: string): string {
  const absolute = existingPath(path)
  if (!statSync(absolute).isDirectory()) return absolute
  throw new UsageError(`${absolute} is a folder, and a file is needed; name one in it`)
}
