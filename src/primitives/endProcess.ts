import { setFlagsFromString } from 'node:v8'

/** What a compiler has under way is done after a few milliseconds. */
const settleMs = 20

/**
 * Ends the process at once, whatever still runs. `process.exit` alone hangs at times from Node.js 24 on: it waits for
 * V8's compiling threads, and one of these may wait for the main thread to collect garbage (nodejs/node#54918; 7 of 600
 * exits of a busy program). So no compilation begins any more, and the main thread collects while the last ones end:
 * 0 of 600. A process that comes to its end by itself needs none of this.
 */
export function endProcess(status: number): never {
  for (const compiler of ['opt', 'maglev', 'sparkplug']) setFlagsFromString(`--no-${compiler}`)
  const end = performance.now() + settleMs
  while (performance.now() < end);
  process.exit(status)
}
