/** Stores of LMDB most of whose pages are free: a file that lacks these is whole. */
import { openEnvironment, openTable } from '../../src/data/store/lmdb/environment.js'

export const mapBytes = 2 ** 30
export const tableNames = ['one', 'two', 'three']
export const rowKey = (row: number) => Uint8Array.of(row >> 8, row & 255)

/** Changes each table, in a transaction of its own, and closes the store. */
export async function writeTables(
  path: string,
  change: (table: NonNullable<ReturnType<typeof openTable>>) => void,
) {
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  for (const name of tableNames) {
    const table = openTable(environment, name)
    if (table !== undefined) environment.transactionSync(() => change(table))
  }
  await environment.close()
}

/** A store of 6 MiB of which all but the first few pages are free. */
export async function writeShrunkStore(path: string): Promise<void> {
  await writeTables(path, (table) => {
    for (let row = 0; row < 500; row++) table.putSync(rowKey(row), new Uint8Array(3_000).fill(row))
  })
  await writeTables(path, (table) => {
    for (let row = 1; row < 500; row++) table.removeSync(rowKey(row))
  })
  // A write without readers takes the first free pages, and leaves the last ones.
  for (let round = 0; round < 10; round++) {
    await writeTables(path, (table) => table.putSync(rowKey(0), new Uint8Array(3_000).fill(round)))
  }
}
