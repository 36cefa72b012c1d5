import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from './packageRoot.js'
import { startedFiles } from './startedFiles.js'

/** A file that is started as a process or a thread. */
export type StartedFile = keyof typeof startedFiles

/** Path of the built file, below `dist`. */
export function startedPath(name: StartedFile): string {
  return builtPath(`${startedFiles[name]}.js`)
}

/** The same path as a URL, for `Worker`. */
export function startedUrl(name: StartedFile): URL {
  return pathToFileURL(startedPath(name))
}

/** Path of a file that the build makes, such as WebAssembly; `path` is the path of its source in the repository. */
export function builtPath(path: string): string {
  return resolve(packageRoot(), 'dist', path)
}
