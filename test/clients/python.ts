/** Finds a Python that has a package of a client, or installs it into a folder that the end of the test removes. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { makeFolder } from '../library/folder.js'
import { runScript } from './runScript.js'

interface PythonPackage {
  /** A statement that imports it. */
  readonly test: string
  /** Name and version of the package, as pip reads them. */
  readonly pinned: string
  /** Variable of the environment; with 1 it is installed. */
  readonly variable: string
  readonly megabytes: number
}

/** The path of a Python, or the reason why there is none. */
export async function findPython(
  t: Test,
  { test, pinned, variable, megabytes }: PythonPackage,
): Promise<{ readonly path: string } | { readonly why: string }> {
  const [name] = pinned.split('==')
  try {
    await runScript(['python3', '-c', test])
    return { path: 'python3' }
  } catch {
    if (process.env[variable] !== '1') {
      return { why: `python3 has no ${name}; ${variable}=1 installs ${pinned} (${megabytes} MB) and runs it` }
    }
  }
  const environment = makeFolder(t)
  const path = join(environment, 'bin/python3')
  try {
    await runScript(['python3', '-m', 'venv', environment])
    await runScript([path, '-m', 'pip', 'install', '-q', '--disable-pip-version-check', pinned])
    return { path }
  } catch (error) {
    return { why: `${pinned} could not be installed: ${(error as Error).message.split('\n')[0]}` }
  }
}
