/** This package: its folder, and the files that the build makes. */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startedFiles } from './startedFiles.js'

/** The folder of package.json, searched upwards from this file, compiled or not. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
}

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
