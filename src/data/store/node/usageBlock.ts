/**
 * The encoding of usage: cells of one API key, many to a row. A key that is busy in every hour has 9,600 cells per
 * method in 400 days, so cells must be small. The units and bytes per call hardly change within a method. So each cell
 * has only the difference from its series' first hour.
 *
 *   block   a series for each network and method
 *   series  network, method: each a length and UTF-8; units and bytes per call of its first cell; number of cells; then
 *           columns of all cells: hours since the cell before; flags; calls; then columns of cells with a flag: errors
 *           (1), the difference of units (2) and of bytes (4) from calls × those per call, or from 0 if that is above
 *           2^50
 *
 * Numbers are LEB128 varints, differences in zigzag order. Columns compress better than cells.
 */

/** Usage of one method on one network by one key within one hour. */
export interface UsageCell {
  readonly network: string
  readonly method: string
  /** Hours since 1970, or since the first hour of a row. */
  readonly hour: number
  /** Calls, in batches too; `errors` counts the failed ones among them. */
  readonly calls: number
  readonly errors: number
  /** Compute units spent. */
  readonly units: number
  /** Bytes of results, before compression. */
  readonly bytes: number
}

const errorsFlag = 1
const unitsFlag = 2
const bytesFlag = 4

/** Cells of the same network, method and hour are added up. */
export function encodeUsage(cells: Iterable<UsageCell>): Uint8Array {
  const series = new Map<string, Map<number, UsageCell>>()
  for (const cell of cells) {
    const name = `${cell.network}\n${cell.method}`
    const hours = series.get(name) ?? new Map<number, UsageCell>()
    const known = hours.get(cell.hour)
    hours.set(cell.hour, known === undefined ? cell : addCells(known, cell))
    series.set(name, hours)
  }
  const writer = new Writer()
  for (const hours of series.values()) {
    writeSeries(
      writer,
      [...hours.values()].sort((a, b) => a.hour - b.hour),
    )
  }
  return writer.finish()
}

function addCells(a: UsageCell, b: UsageCell): UsageCell {
  return {
    ...a,
    calls: a.calls + b.calls,
    errors: a.errors + b.errors,
    units: a.units + b.units,
    bytes: a.bytes + b.bytes,
  }
}

function writeSeries(writer: Writer, cells: readonly UsageCell[]): void {
  const [first] = cells
  if (first === undefined) return
  const unitsEach = perCall(first.units, first.calls)
  const bytesEach = perCall(first.bytes, first.calls)
  writer.text(first.network)
  writer.text(first.method)
  writer.number(unitsEach)
  writer.number(bytesEach)
  writer.number(cells.length)
  const rests = cells.map((cell) => ({
    errors: cell.errors,
    units: cell.units - expected(cell.calls, unitsEach),
    bytes: cell.bytes - expected(cell.calls, bytesEach),
  }))
  for (const [at, { hour }] of cells.entries()) writer.number(hour - (cells[at - 1]?.hour ?? 0))
  for (const { errors, units, bytes } of rests) {
    writer.number((errors && errorsFlag) | (units && unitsFlag) | (bytes && bytesFlag))
  }
  for (const { calls } of cells) writer.number(calls)
  for (const { errors } of rests) if (errors !== 0) writer.number(errors)
  for (const { units } of rests) if (units !== 0) writer.number(toZigzag(units))
  for (const { bytes } of rests) if (bytes !== 0) writer.number(toZigzag(bytes))
}

function perCall(amount: number, calls: number): number {
  return calls === 0 ? 0 : Math.round(amount / calls)
}

/** Far above the usage of an hour, and so far below 2^53 that differences are exact. */
const expectedMax = 2 ** 50

/** Expected amount for this number of calls; 0 if it is too large to be exact. */
function expected(calls: number, each: number): number {
  const amount = calls * each
  return amount <= expectedMax ? amount : 0
}

/** The cells of a block. Throws RangeError if it is cut short. */
export function decodeUsage(block: Uint8Array): UsageCell[] {
  const reader = new Reader(block)
  const cells: UsageCell[] = []
  while (!reader.isAtEnd) {
    const network = reader.text()
    const method = reader.text()
    const unitsEach = reader.number()
    const bytesEach = reader.number()
    const count = reader.number()
    const column = (read: (at: number) => number) => Array.from({ length: count }, (_, at) => read(at))
    let last = 0
    const hours = column(() => {
      last += reader.number()
      return last
    })
    const flags = column(() => reader.number())
    const calls = column(() => reader.number())
    const rest = (flag: number) => column((at) => ((flags[at] as number) & flag ? reader.number() : 0))
    const errors = rest(errorsFlag)
    const units = rest(unitsFlag)
    const bytes = rest(bytesFlag)
    for (const [at, hour] of hours.entries()) {
      const made = calls[at] as number
      cells.push({
        network,
        method,
        hour,
        calls: made,
        errors: errors[at] as number,
        units: expected(made, unitsEach) + fromZigzag(units[at] as number),
        bytes: expected(made, bytesEach) + fromZigzag(bytes[at] as number),
      })
    }
  }
  return cells
}

/** 0, -1, 1, -2 … → 0, 1, 2, 3 … */
function toZigzag(value: number): number {
  return value >= 0 ? 2 * value : -2 * value - 1
}

function fromZigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2
}

class Writer {
  readonly #bytes: number[] = []

  number(value: number): void {
    let rest = value
    // Division, because bitwise operators would cut bits beyond the 32nd.
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes.push((rest % 128) + 128)
    this.#bytes.push(rest)
  }

  text(value: string): void {
    const bytes = Buffer.from(value, 'utf8')
    this.number(bytes.length)
    for (const byte of bytes) this.#bytes.push(byte)
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes)
  }
}

class Reader {
  #at = 0
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  number(): number {
    let value = 0
    for (let weight = 1; ; weight *= 128) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new RangeError('a row of usage is cut short')
      value += (byte & 0x7f) * weight
      if (byte < 128) return value
    }
  }

  text(): string {
    const length = this.number()
    const end = this.#at + length
    if (end > this.#bytes.length) throw new RangeError('a row of usage is cut short')
    const bytes = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return Buffer.from(bytes).toString('utf8')
  }
}
