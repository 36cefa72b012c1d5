import { textOf } from '../../primitives/jsonType.js'

/** Maximum accounts of one answer of `debug_accountRange`, the same as go-ethereum's. */
export const accountsPerAnswer = 256

/** A page of all accounts after a block, as a node reports it. Unproved. */
export interface AccountPage {
  /** The state root, with or without `0x`. */
  readonly root: string
  readonly accounts: readonly (readonly [name: string, account: Readonly<Record<string, unknown>>])[]
  /** Start of the next page, hex; undefined after the last page. */
  readonly next: string | undefined
}

/** Reads an answer of `debug_accountRange`; undefined if it is invalid. go-ethereum writes `next` as base64 or hex. */
export function readAccountPage(answer: unknown): AccountPage | undefined {
  const { root, accounts, next } = (answer ?? {}) as Readonly<Record<string, unknown>>
  if (typeof accounts !== 'object' || accounts === null) return undefined
  const isHex = /^0x/i.test(textOf(next))
  return {
    root: textOf(root),
    accounts: Object.entries(accounts).map(([name, account]) => [name, account ?? {}]),
    next: isHex
      ? textOf(next)
      : next
        ? `0x${Buffer.from(textOf(next), 'base64').toString('hex')}`
        : undefined,
  }
}
