import { setTimeout } from 'node:timers/promises'

/** Resolves once `holds`, looked at each millisecond: threads that have to get there need the cores. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setTimeout(1)
}
