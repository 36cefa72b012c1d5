import { textOf } from '../../primitives/excerpt.js'

/** Accounts of one answer of `debug_accountRange`, as many as go-ethereum gives. */
export const accountsPerAnswer = 256

/** A page of all accounts after a block, as nodes tell it. Unproved. */
export interface AccountPage {
  /** The state root, with or without `0x`. */
  readonly root: string
  readonly accounts: readonly (readonly [name: string, account: Readonly<Record<string, unknown>>])[]
  /** Where the next page begins, hex; undefined after the last. */
  readonly next: string | undefined
}

/** An answer of `debug_accountRange`; undefined where it is none. go-ethereum writes `next` as base64, or as hex. */
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
