import type { Test } from 'tap'
import { makeFolder } from '../library/folder.js'
import { copyEmbeddedStore, type Outcome } from '../service/program.js'
import { type Service, startService } from '../service/service.js'

/** A data folder with the whole demo network, so that a start needs no import. */
export async function makeDemoFolder(t: Test): Promise<string> {
  const folder = makeFolder(t)
  await copyEmbeddedStore(folder)
  return folder
}

/** Starts a server and stops it when the test ends; `log` collects its standard error. */
export async function start(
  t: Test,
  flags: readonly string[],
): Promise<{ service: Service; log: () => string }> {
  const service = await startService(flags)
  let log = ''
  service.process.stderr?.on('data', (chunk) => {
    log += chunk
  })
  t.teardown(() => service.stop())
  return { service, log: () => log }
}

/** Checks that a program ended with this status and one sentence for the operator. */
export function checkSentence(
  t: Test,
  { status, out, err }: Outcome,
  expected: number,
  message: RegExp,
): void {
  t.equal(status, expected)
  // A start that opens stores prints what it opens.
  t.match(out, /^(?:Tidegate \S+ opens [^\n]+\n)?$/)
  t.match(err, message)
  t.match(err, /^tidegate: [^\n]+\n$/, 'one sentence')
  t.notMatch(err, /internal error|\bat [^ ]+ \(/, 'no crash')
}
