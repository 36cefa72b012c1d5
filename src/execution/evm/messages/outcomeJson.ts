/** The text of what messages come to, made on the thread that ran them: the thread that listens only passes it on. */
import { bytesToHex, noBytes } from '../../../primitives/bytes.js'
import { type Fault, FaultError } from '../../../primitives/faults.js'
import { hexJson } from '../../../primitives/jsonBytes.js'
import type { AccessListOutcome, CallOutcome } from './executionRequest.js'

/** Revert data up to here crosses as it is: its text is made as fast as it is passed on. */
export const shortDataBytesMax = 8 * 1024

/** JSON of the data that a message returned. Throws FaultError where it failed. */
export function returnedJson({
  failure,
  returnData,
}: Pick<CallOutcome, 'failure' | 'returnData'>): Uint8Array {
  if (failure !== undefined) throw new FaultError(failure)
  return hexJson(returnData)
}

/** An outcome whose list is JSON. */
export type ListedAccesses = Omit<AccessListOutcome, 'accessList'> & { readonly accessList: Uint8Array }

export function listedAccesses({ accessList, gasUsed, failure }: AccessListOutcome): ListedAccesses {
  const list = accessList.map(({ address, storageKeys }) => ({
    address: bytesToHex(address),
    storageKeys: storageKeys.map(bytesToHex),
  }))
  return { accessList: Buffer.from(JSON.stringify(list)), gasUsed, failure: failure && withText(failure) }
}

/** Resolves as `outcome`; a fault that it rejects with has the text of long data. */
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
