/** This package: its folder, the files that the build makes, and its version. */
import { existsSync, readFileSync } from 'node:fs'
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

const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
  version: string
}

export { version }

/** The answer of `web3_clientVersion`: `Tidegate/v0.1.0/linux-x64/node20.20.2`. */
export const clientVersion = `Tidegate/v${version}/${process.platform}-${process.arch}/node${process.versions.node}`

/** The release of anvil whose answers those of a developer chain have the form of. */
export const anvilVersion = '1.7.1'

/**
 * The same on a developer chain. Hardhat's helpers, Ignition and others refuse every name that does not begin with that
 * of a test chain, of which anvil's has the most methods here.
 */
export const developerClientVersion = `anvil/v${anvilVersion} ${clientVersion}`
