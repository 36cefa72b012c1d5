/** One message to execute at a block, as a job carries it. */
export interface ExecutionRequest {
  readonly block: { readonly number: number; readonly hash: Uint8Array }
}
export interface CallOutcome {
  readonly returnData: Uint8Array
}
export interface EstimateOutcome {
  readonly gas: bigint
}
export interface AccessListOutcome {
  readonly gasUsed: bigint
}
