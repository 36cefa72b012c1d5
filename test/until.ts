/** Resolves once `holds`, looked at after each turn of the event loop. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate)
}
