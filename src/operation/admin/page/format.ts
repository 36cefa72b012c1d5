/** Figures in readable form: three digits, with their unit. */

export function formatMs(ms: number | undefined): string {
  if (ms === undefined || Number.isNaN(ms)) return '–'
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`
  return ms < 1_000 ? `${digits(ms)} ms` : `${digits(ms / 1_000)} s`
}

export function formatSeconds(seconds: number | null | undefined): string {
  return formatMs(seconds == null ? undefined : seconds * 1_000)
}

export function formatCount(count: number | undefined): string {
  if (count === undefined || Number.isNaN(count)) return '–'
  return Number.isInteger(count) ? count.toLocaleString('en') : digits(count)
}

/** For example `1 block` and `2 blocks`. */
export function formatQuantity(count: number, unit: string): string {
  return `${formatCount(count)} ${unit}${count === 1 ? '' : 's'}`
}

/** A rate: digits after the point only if it is small. */
export function formatRate(perSecond: number | undefined): string {
  return perSecond === undefined ? '–' : digits(perSecond)
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
  return `${digits(bytes / 1024 ** power)} ${units[power]}`
}

export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '–' : `${digits((part / whole) * 100)} %`
}

export function formatAge(ms: number): string {
  const seconds = Math.max(ms, 0) / 1_000
  if (seconds < 90) return `${Math.floor(seconds)} s`
  if (seconds < 90 * 60) return `${Math.floor(seconds / 60)} min`
  if (seconds < 36 * 3_600) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400).toLocaleString('en')} d`
}

export function formatTime(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').slice(0, 19)
}

/** A key by its name and id. */
export function keyLabel(id: string, name: string | null): string {
  return name === null ? id : `${name} (${id})`
}

function digits(value: number): string {
  if (value === 0) return '0'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}
