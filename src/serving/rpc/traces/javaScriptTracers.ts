/**
 * JavaScript tracers under go-ethereum's names (eth/tracers/js/internal/tracers), written anew: counts of instructions
 * and of their sequences, and input for a disassembler.
 */

/** Counts sequences of `width` instructions; `first` is the code that runs at the first instruction of a call. */
const counting = (width: number, first: string) => `{
  counts: {}, last: [], depth: 0,
  step: function (log) {
    var name = log.op.toString()
    if (log.getDepth() !== this.depth) {
      this.depth = log.getDepth()
      ${first}
    }
    var key = this.last.concat([name]).join('-')
    this.counts[key] = (this.counts[key] || 0) + 1
    this.last = this.last.concat([name]).slice(${width === 1 ? 1 : 1 - width})
  },
  fault: function () {},
  result: function () { return this.counts },
}`

/** The instructions of each call, with the words that each pushed on the stack, and their nested calls. */
const disassembly = `{
  open: [{ ops: [] }],
  pushed: function (op) {
    if (op >= 0x80 && op < 0x90) return op - 0x7e
    if (op >= 0x90 && op < 0xa0) return op - 0x8e
    var none = [0x00, 0x37, 0x39, 0x3c, 0x3e, 0x50, 0x52, 0x53, 0x55, 0x56, 0x57, 0x5b, 0x5d, 0x5e, 0xf3, 0xfd, 0xfe, 0xff]
    return (op >= 0xa0 && op <= 0xa4) || none.indexOf(op) >= 0 ? 0 : 1
  },
  step: function (log) {
    var call = this.open[this.open.length - 1]
    if (log.getError()) {
      call.error = log.getError()
      return
    }
    if (log.getDepth() !== this.open.length) {
      this.open = this.open.slice(0, log.getDepth())
      return
    }
    var op = log.op.toNumber()
    var entry = { op: op, depth: log.getDepth(), result: [] }
    var before = call.ops[call.ops.length - 1]
    for (var at = 0; before !== undefined && at < this.pushed(before.op); at++) {
      before.result.push(log.stack.peek(at).toString(16))
    }
    var self = this
    var enter = function (start, hasValue) {
      var from = log.stack.peek(start).valueOf()
      entry.gas = log.stack.peek(0).valueOf()
      entry.to = log.stack.peek(1).toString(16)
      if (hasValue) entry.value = log.stack.peek(2).toString()
      entry.input = log.memory.slice(from, from + log.stack.peek(start + 1).valueOf())
      entry.error = null
      entry.return = null
      entry.ops = []
      self.open.push(entry)
    }
    if (op === 0xf1 || op === 0xf2) enter(3, true)
    else if (op === 0xf4 || op === 0xfa) enter(2, false)
    else if (op === 0xf3 || op === 0xfd) {
      var out = log.stack.peek(0).valueOf()
      call.return = log.memory.slice(out, out + log.stack.peek(1).valueOf())
    } else if (op === 0x00 || op === 0xff) call.return = log.memory.slice(0, 0)
    else if (op === 0x5b) entry.pc = log.getPC()
    if (log.op.isPush()) entry.len = op - 0x5e
    call.ops.push(entry)
  },
  fault: function () {},
  result: function () { return this.open[0].ops },
}`

const nothing = 'this.last = []'

export const javaScriptTracers: Readonly<Record<string, string>> = {
  opcountTracer:
    '{ count: 0, step: function () { this.count++ }, fault: function () {}, result: function () { return this.count } }',
  unigramTracer: counting(1, nothing),
  bigramTracer: counting(2, 'this.last = [name]\n      return'),
  trigramTracer: counting(3, "this.last = ['', '']\n      return"),
  evmdisTracer: disassembly,
}

const ownCodes: ReadonlySet<string> = new Set(Object.values(javaScriptTracers))

/** Whether a tracer's code is one of these tracers, which are accepted from any caller. */
export function isOwnCode(code: string): boolean {
  return ownCodes.has(code)
}
