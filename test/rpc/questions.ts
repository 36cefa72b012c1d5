/** Sends many questions at once, and checks refusals of invalid ones. */
import type { Test } from 'tap'
import type { RpcAnswer, Service } from '../service/service.js'
import { checkParams, checkResult } from './openRpc.js'

export type Question = readonly [method: string, params: unknown]

/** Calls in one request: below the service's bound of 1,000, with answers far below its 25 MB. */
const batchCalls = 400

/** The whole answers, in the order of the questions, sent as batches. */
export async function askAll(
  service: Service,
  questions: readonly Question[],
  path = '/',
): Promise<RpcAnswer[]> {
  const answers: RpcAnswer[] = []
  for (let start = 0; start < questions.length; start += batchCalls) {
    const batch = questions
      .slice(start, start + batchCalls)
      .map(([method, params], index) => ({ jsonrpc: '2.0', id: start + index, method, params }))
    const { status, text } = await service.post(path, JSON.stringify(batch))
    if (status !== 200) throw new Error(`a batch was answered with ${status}: ${text}`)
    for (const answer of JSON.parse(text) as RpcAnswer[]) {
      if (answer.id !== answers.length) throw new Error(`answer ${answers.length} has id ${answer.id}`)
      const [method, params] = questions[answers.length] as Question
      if (answer.error === undefined) {
        checkParams(method, params)
        checkResult(method, answer.result)
      }
      answers.push(answer)
    }
  }
  return answers
}

/** Only the results of the answers; throws if one is an error. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape.
export async function askResults(service: Service, questions: readonly Question[]): Promise<any[]> {
  const answers = await askAll(service, questions)
  return answers.map((answer, index) => {
    if (answer.error === undefined) return answer.result
    throw new Error(`${JSON.stringify(questions[index])}: ${JSON.stringify(answer.error)}`)
  })
}

export type ErrorCase = readonly [params: unknown, code: number, message: string]

/** Checks code, exact message and data, and the absence of a result, for each `params`. */
export async function checkRefusals(
  t: Test,
  service: Service,
  method: string,
  refusals: readonly ErrorCase[],
): Promise<void> {
  const answers = await askAll(
    service,
    refusals.map(([params]) => [method, params]),
  )
  for (const [index, [params, code, message]] of refusals.entries()) {
    const { jsonrpc, id, error } = answers[index] as RpcAnswer
    // A message with the requested block and the head.
    const hasBlock =
      message === 'header not found' &&
      /^header not found: there is no block .+ yet/.test(error?.message ?? '')
    const expected = { jsonrpc, id, error: { code, message: hasBlock ? error?.message : message } }
    t.strictSame(answers[index], expected, JSON.stringify(params))
  }
}

const invalid = -32602

/**
 * Refusals of a block parameter at position `at`; `params` returns valid parameters with the refused one at this
 * position.
 */
export function blockRefusals(at: number, params: (block: unknown) => unknown[]): ErrorCase[] {
  const hash = `0x${'12'.repeat(32)}`
  const because = (why: string) => `invalid argument ${at}: ${why}`
  const cases: [block: unknown, message: string][] = [
    ['', because('empty hex string')],
    ['newest', because('hex string without 0x prefix')],
    ['Latest', because('hex string without 0x prefix')],
    ['0x', because('hex string "0x"')],
    ['0x01', because('hex number with leading zero digits')],
    ['0x00', because('hex number with leading zero digits')],
    ['0x1g', because('invalid hex string')],
    ['0x-1', because('invalid hex string')],
    ['0x1 ', because('invalid hex string')],
    ['0x8000000000000000', because('block number larger than int64')],
    ['0xffffffffffffffff', because('block number larger than int64')],
    ['0x10000000000000000', because('hex number > 64 bits')],
    [true, because('want a block number or tag, got boolean')],
    [['0x1'], because('want a block number or tag, got array')],
    [{}, because('neither blockNumber nor blockHash specified')],
    [{ blockNumber: null }, because('neither blockNumber nor blockHash specified')],
    [{ blockNumber: '0x01' }, because('hex number with leading zero digits')],
    [{ blockNumber: 1 }, because('want a hex quantity, got number')],
    [{ blockHash: '0x12' }, because('hex string has length 2, want 64 for hash')],
    [{ blockHash: 7 }, because('want a hex string for hash, got number')],
    [{ blockHash: hash, requireCanonical: 'yes' }, because('requireCanonical: want a boolean, got string')],
    [
      { blockHash: hash, blockNumber: '0x1' },
      'cannot specify both BlockHash and BlockNumber, choose one or the other',
    ],
  ]
  return cases.map(([block, message]) => [params(block), invalid, message])
}

/** Refusals of a block hash at position 0, with `rest` after it. */
export function hashRefusals(rest: readonly unknown[]): ErrorCase[] {
  const cases: [hash: unknown, why: string][] = [
    ['', 'empty hex string'],
    ['12'.repeat(32), 'hex string without 0x prefix'],
    ['latest', 'hex string without 0x prefix'],
    ['0x', 'hex string has length 0, want 64 for hash'],
    [`0x${'12'.repeat(31)}`, 'hex string has length 62, want 64 for hash'],
    [`0x${'12'.repeat(33)}`, 'hex string has length 66, want 64 for hash'],
    [`0x${'1'.repeat(63)}`, 'hex string of odd length'],
    [`0x${'zz'.repeat(32)}`, 'invalid hex string'],
    [12, 'want a hex string for hash, got number'],
    [{ blockHash: `0x${'12'.repeat(32)}` }, 'want a hex string for hash, got object'],
  ]
  return cases.map(([hash, why]) => [[hash, ...rest], invalid, `invalid argument 0: ${why}`])
}

/** Refusals of parameters by a method that takes only a block's number or its hash. */
export function refusalsOfBlock(by: 'number' | 'hash'): ErrorCase[] {
  return by === 'number'
    ? [...countRefusals(['latest']), ...blockRefusals(0, (block) => [block])]
    : [...countRefusals([`0x${'12'.repeat(32)}`]), ...hashRefusals([])]
}

/** Refusals of an index at position 1, after `first`. */
export function indexRefusals(first: unknown): ErrorCase[] {
  const cases: [index: unknown, why: string][] = [
    ['', 'empty hex string'],
    ['0', 'hex string without 0x prefix'],
    ['0x', 'hex string "0x"'],
    ['0x00', 'hex number with leading zero digits'],
    ['0xz', 'invalid hex string'],
    ['0x10000000000000000', 'hex number > 64 bits'],
    [0, 'want a hex quantity, got number'],
    [{}, 'want a hex quantity, got object'],
  ]
  return cases.map(([index, why]) => [[first, index], invalid, `invalid argument 1: ${why}`])
}

/** Refusals of a wrong number of parameters, and of parameters outside a list, given a valid list. */
export function countRefusals(right: readonly unknown[], required = right.length): ErrorCase[] {
  const refusals: ErrorCase[] = [
    [[...right, 1], invalid, `too many arguments, want at most ${right.length}`],
    [[...right, null], invalid, `too many arguments, want at most ${right.length}`],
    [{}, invalid, 'non-array args: params must be an array'],
    [{ block: 'latest' }, invalid, 'non-array args: params must be an array'],
  ]
  for (let given = 0; given < required; given++) {
    const message = `missing value for required argument ${given}`
    refusals.push([right.slice(0, given), invalid, message])
    refusals.push([right.map((value, index) => (index === given ? null : value)), invalid, message])
  }
  return refusals
}
