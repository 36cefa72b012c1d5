/** The remains of objects that were used for a short time, after a collection of young objects alone. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const itemCount = 8_000
const itemsBetweenCollections = 100
const objectsOfItem = 250
const objectBytes = 16

setFlagsFromString('--expose-gc')
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc')

/** The share of the contents which were passed to `use`, one after the other, that is still in memory. */
export function shareKept(use: (content: readonly object[], index: number) => void): number {
  collect()
  const before = oldBytes()
  for (let index = 0; index < itemCount; index++) {
    use(
      Array.from({ length: objectsOfItem }, () => ({})),
      index,
    )
    if (index % itemsBetweenCollections === 0) collect({ type: 'minor' })
  }
  return (oldBytes() - before) / (itemCount * objectsOfItem * objectBytes)
}

/** Bytes of objects that only a collection of the whole heap frees. */
function oldBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')?.space_used_size ?? 0
}
