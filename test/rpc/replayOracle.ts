/** Expected parts of a replay, from other traces of the same transaction, which recordings of go-ethereum verify. */
import type { Test } from 'tap'
import type { Json } from './demoChain.js'

interface StructLog {
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly depth: number
  readonly stack: readonly string[]
  readonly memory?: readonly string[]
  readonly error?: string
}

export interface VmOp {
  readonly pc: number
  readonly op: string
  readonly cost: number
  readonly ex: {
    readonly push: readonly string[]
    readonly used: number
    readonly mem: { readonly data: string; readonly off: number } | null
    readonly store: { readonly key: string; readonly val: string } | null
  } | null
  readonly sub: { readonly code: string; readonly ops: readonly VmOp[] } | null
}

/** Instructions in the order in which they ran, with their depth, from 1. */
function* flat({ ops }: { readonly ops: readonly VmOp[] }, depth = 1): Generator<readonly [VmOp, number]> {
  for (const op of ops) {
    yield [op, depth]
    if (op.sub !== null) yield* flat(op.sub, depth + 1)
  }
}

/** Compares instructions with those of go-ethereum's opcode logger (with memory). Returns how many there are. */
export function checkVmTrace(t: Test, vmTrace: NonNullable<VmOp['sub']>, logs: readonly StructLog[]): number {
  const ops = [...flat(vmTrace)]
  const faults: string[] = []
  const check = (isRight: boolean, what: string, at: number) => {
    if (!isRight && faults.length < 5)
      faults.push(`${what} of instruction ${at}: ${JSON.stringify(ops[at]?.[0]).slice(0, 300)}`)
  }
  check(ops.length === logs.length, `number is ${ops.length}, not ${logs.length}`, 0)
  for (const [at, [{ pc, op, cost, ex }, depth]] of ops.entries()) {
    const log = logs[at]
    if (log === undefined) break
    check(pc === log.pc && depth === log.depth, 'place', at)
    check(op === log.op, 'name', at)
    if (log.error !== undefined) {
      check(ex === null, 'failure', at)
      continue
    }
    check(cost === log.gasCost, `cost, not ${log.gasCost}`, at)
    // The next instruction of the same code shows the state after this one.
    let after = at + 1
    while (logs[after] !== undefined && (logs[after] as StructLog).depth > depth) after++
    const next = logs[after]
    if (next?.depth !== depth || ex === null) continue
    check(ex.used === next.gas, `gas, not ${next.gas}`, at)
    const { push, mem, store } = ex
    if (push.length > 0) check(push.join() === next.stack.slice(-push.length).join(), 'pushed words', at)
    const grew = next.stack.length - log.stack.length
    if (!/^(DUP|SWAP)/.test(op) && grew > 0) check(push.length > 0, 'missing words', at)
    if (mem !== null) {
      const held = (next.memory ?? []).join('').replaceAll('0x', '')
      check(held.slice(mem.off * 2, mem.off * 2 + mem.data.length - 2) === mem.data.slice(2), 'memory', at)
    }
    check((op === 'SSTORE') === (store !== null), 'store', at)
    if (store !== null) check(store.key === log.stack.at(-1) && store.val === log.stack.at(-2), 'stored', at)
  }
  t.strictSame(faults, [])
  return ops.length
}

interface Account {
  readonly balance?: string
  readonly nonce?: number
  readonly code?: string
  readonly storage?: Record<string, string>
}

const zeroWord = `0x${'0'.repeat(64)}`

/** The changes by account in go-ethereum's prestateTracer with `diffMode`. */
export function changesOf({ pre, post }: Record<'pre' | 'post', Record<string, Account>>): Json {
  const changes: Record<string, Json> = {}
  for (const address of new Set([...Object.keys(pre), ...Object.keys(post)])) {
    const before = pre[address]
    const after = post[address]
    const now = { ...before, ...after }
    const slots = new Set([...Object.keys(before?.storage ?? {}), ...Object.keys(after?.storage ?? {})])
    const change = (from: string, to: string) =>
      before === undefined
        ? { '+': to }
        : after === undefined
          ? { '-': from }
          : from === to
            ? '='
            : { '*': { from, to } }
    const hex = (value: number | undefined) => `0x${(value ?? 0).toString(16)}`
    changes[address] = {
      balance: change(before?.balance ?? '0x0', now.balance ?? '0x0'),
      code: change(before?.code ?? '0x', now.code ?? '0x'),
      nonce: change(hex(before?.nonce), hex(now.nonce)),
      storage: Object.fromEntries(
        [...slots].map((slot) => [
          slot,
          change(before?.storage?.[slot] ?? zeroWord, after?.storage?.[slot] ?? zeroWord),
        ]),
      ),
    }
  }
  return changes
}
