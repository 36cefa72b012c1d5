/** What a job that computes mapping slots in bulk works on. */
export interface MappingSlotsRequest {
  readonly keys: readonly Uint8Array[]
  readonly slot: Uint8Array
}
