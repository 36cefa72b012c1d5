/** JSON text of message outcomes, made on the thread that ran them: the thread that listens only forwards it. */
import { bytesToHex, noBytes } from '../../../primitives/bytes.js'
import { type Fault, FaultError } from '../../../primitives/faults.js'
import { hexJson } from '../../../primitives/jsonBytes.js'
import type { AccessListOutcome, CallOutcome } from './executionRequest.js'

/** Revert data up to this length is passed as bytes: making its text takes no longer than passing it. */
export const shortDataBytesMax = 8 * 1024

/** JSON of the data that a message returned. Throws FaultError if it failed. */
export function returnedJson({
  failure,
  returnData,
}: Pick<CallOutcome, 'failure' | 'returnData'>): Uint8Array {
  if (failure !== undefined) throw new FaultError(failure)
  return hexJson(returnData)
}

/** An outcome whose list is already JSON. */
export type ListedAccesses = Omit<AccessListOutcome, 'accessList'> & { readonly accessList: Uint8Array }

export function listedAccesses({ accessList, gasUsed, failure }: AccessListOutcome): ListedAccesses {
  const list = accessList.map(({ address, storageKeys }) => ({
    address: bytesToHex(address),
    storageKeys: storageKeys.map(bytesToHex),
  }))
  return { accessList: Buffer.from(JSON.stringify(list)), gasUsed, failure: failure && withText(failure) }
}

/** Resolves as `outcome`. If that rejects with a fault, long data in the fault is replaced by its text. */
export async function withTexts<T>(outcome: Promise<T>): Promise<T> {
  try {
    return await outcome
  } catch (error) {
    throw error instanceof FaultError ? new FaultError(withText(error.fault), error.message) : error
  }
}

function withText(fault: Fault): Fault {
  if (fault.kind !== 'ExecutionReverted' || fault.data.length <= shortDataBytesMax) return fault
  return { ...fault, data: noBytes, json: hexJson(fault.data) }
}
