/** Errors of the Engine API, with the codes of its specification (execution-apis, src/engine/common.md, Errors). */
const errors = {
  invalidParams: [-32602, 'Invalid params'],
  methodNotFound: [-32601, 'Method not found'],
  server: [-32000, 'Server error'],
  unknownPayload: [-38001, 'Unknown payload'],
  invalidState: [-38002, 'Invalid forkchoice state'],
  invalidAttributes: [-38003, 'Invalid payload attributes'],
  tooLarge: [-38004, 'Too large request'],
  unsupportedFork: [-38005, 'Unsupported fork'],
  tooDeepReorg: [-38006, 'Too deep reorg'],
} as const

export type EngineErrorName = keyof typeof errors

export class EngineError extends Error {
  readonly code: number

  /** `why`: the cause, as a sentence for the operator of the consensus client. */
  constructor(
    readonly kind: EngineErrorName,
    readonly why: string,
  ) {
    const [code, title] = errors[kind]
    super(title)
    this.code = code
  }

  /** The error object of JSON-RPC. */
  get json(): object {
    return { code: this.code, message: this.message, data: { err: this.why } }
  }
}

export function invalidParams(why: string): EngineError {
  return new EngineError('invalidParams', why)
}
