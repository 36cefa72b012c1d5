/** Limits of requests. */
export interface DispatchLimits {
  /** Calls of one batch. go-ethereum's default: 1,000. */
  readonly batchCallsMax: number
  /** Bytes of one call, whatever the length of its message. */
  readonly callBytesMax: number
  /** Bytes of the answer to one batch. go-ethereum's default: 25,000,000. */
  readonly batchBytesMax: number
  /** How long one request may hold the thread before it pauses for others; see turns.ts. */
  readonly turnMsMax: number
  /** Time from the arrival of a request to the last result of its jobs. */
  readonly requestMsMax: number
  /** Bytes of stored results of one network. */
  readonly memoBytesMax: number
}
