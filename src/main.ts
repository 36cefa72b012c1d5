#!/usr/bin/env node
/**
 * The program's entry: hands the command line to `commands/runCommandLine.ts` and its exit status to the system. All else is
 * imported once the version of Node.js is known to do, since an older one would stop at the first import it lacks.
 */
import './requireNode.cjs'
import { endProcess } from './primitives/endProcess.js'

const { runCommandLine } = await import('./commands/runCommandLine.js')

// A reader that closes its end early, such as head(1), has had enough; that is no failure. Of a terminal that is gone
// SIGHUP tells.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EIO') return
    if (error.code !== 'EPIPE') throw error
    endProcess(0)
  })
}

process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(`${text}\n`),
})
