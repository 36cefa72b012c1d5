/** Precompiled contract 9: the compression function of BLAKE2b (EIP-152), in WebAssembly: 0.1 ms for 1,000 rounds. */
import { instantiate, type WasmGlobal, type WasmMemory } from '../../../primitives/webAssembly.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { refuse, wrongLength } from './contractData.js'

interface Compression {
  readonly memory: WasmMemory
  readonly state: WasmGlobal
  readonly message: WasmGlobal
  readonly offset: WasmGlobal
  begin(isFinal: number): void
  rounds(from: number, to: number): void
  finish(): void
}

let compression: Compression | undefined

/** rounds (4 bytes) ‖ state (64) ‖ message (128) ‖ offset (16) ‖ whether it is the last block (1). */
const inputBytes = 213

/** Rounds between two checks of the watch: some milliseconds. */
const roundsPerLook = 20_000

export function blake2fRounds(data: Uint8Array): number {
  return data.length === inputBytes ? new DataView(data.buffer, data.byteOffset).getUint32(0) : 0
}

export function blake2f(data: Uint8Array, watch: JobWatch | undefined): Uint8Array {
  if (data.length !== inputBytes) refuse(wrongLength)
  const isFinal = data[212] as number
  if (isFinal > 1) refuse('invalid final flag')
  compression ??= instantiate<Compression>('src/execution/evm/precompiles/blake2f.wasm')
  const { memory, state, message, offset } = compression
  const bytes = new Uint8Array(memory.buffer)
  bytes.set(data.subarray(4, 68), state.value)
  bytes.set(data.subarray(68, 196), message.value)
  bytes.set(data.subarray(196, 212), offset.value)
  compression.begin(isFinal)
  const rounds = blake2fRounds(data)
  for (let at = 0; at < rounds; at += roundsPerLook) {
    watch?.look()
    compression.rounds(at, Math.min(at + roundsPerLook, rounds))
  }
  compression.finish()
  return bytes.slice(state.value, state.value + 64)
}
