#!/usr/bin/env node
/**
 * The program's entry: hands the command line to `commands/runCommandLine.ts` and its exit status to the system. All
 * other modules are imported after the check of the version of Node.js. An older one would stop at the first import
 * that it does not support.
 */
import './requireNode.cjs'
import { endProcess } from './primitives/endProcess.js'

const { runCommandLine } = await import('./operation/commands/runCommandLine.js')

/** Exit status where standard output could not be written. */
const outputLost = 1

// A reader that closes its end early, such as head(1), has had enough; that is no failure. SIGHUP reports a closed
// terminal. Output that does not fit a full disk is lost, but the server continues.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') endProcess(0)
    if (code === 'EIO' || stream === process.stderr || process.exitCode === outputLost) return
    process.exitCode = outputLost
    process.stderr.write(
      `tidegate: cannot write to standard output (${code}); the rest of the output is lost\n`,
    )
  })
}

const status = await runCommandLine(process.argv.slice(2), {
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(`${text}\n`),
})
// Otherwise that of a lost output stays, which may also be noticed later.
if (status !== 0) process.exitCode = status
