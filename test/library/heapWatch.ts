/**
 * Loaded into a program before it starts (`NODE_OPTIONS=--import=…`): at SIGUSR2 collects garbage, then adds a line to
 * the file `HEAP_WATCH`.
 */
import { appendFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

const path = process.env.HEAP_WATCH
if (isMainThread && path !== undefined) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  process.on('SIGUSR2', () => {
    collect()
    // Finalizers must first release the objects that the first collection found.
    setImmediate(() => {
      collect()
      appendFileSync(path, '.')
    })
  })
}
