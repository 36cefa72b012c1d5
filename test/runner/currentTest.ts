/** Replaces the test library in files that share a process: the subtest of the running file. */
import type { Test } from 'tap'

let current: Test

export function enter(file: Test): void {
  current = file
}

const t = new Proxy({} as Test, {
  get(_, name) {
    const member = Reflect.get(current, name)
    return typeof member === 'function' ? member.bind(current) : member
  },
})
export default t
