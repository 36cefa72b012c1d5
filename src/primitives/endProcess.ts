import { setFlagsFromString } from 'node:v8'

/** Compilations in progress end within a few milliseconds. */
const settleMs = 20

/**
 * Ends the process at once, even if work is running. From Node.js 24 on, `process.exit` alone sometimes hangs
 * (nodejs/node#54918; 7 of 600 exits of a busy program). It waits for V8's compiling threads, one of which may wait for
 * the main thread to collect garbage. So no new compilation is started, and the main thread can collect garbage while
 * the last ones end: 0 of 600. A process that ends by itself does not need this.
 */
export function endProcess(status: number): never {
  for (const compiler of ['opt', 'maglev', 'sparkplug']) setFlagsFromString(`--no-${compiler}`)
  const end = performance.now() + settleMs
  while (performance.now() < end);
  process.exit(status)
}
