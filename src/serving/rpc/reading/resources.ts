/**
 * Answers of GET requests: results of methods under a name that contains a block hash, so that the named data never
 * changes. Owns the names, and the HTTP status of a fault of such a request.
 */
import { toQuantity } from '../../../primitives/bytes.js'
import { type Fault, FaultError } from '../../../primitives/faults.js'
import { excerpt } from '../../../primitives/jsonType.js'
import { faultToHttpStatus, faultToWireError } from '../answers/wireErrors.js'
import { invalidFault } from './bodyMembers.js'

/** A path after the key, split at its slashes, and its query without the question mark. */
interface ResourceName {
  readonly segments: readonly string[]
  readonly query: string
}

interface Resource {
  readonly method: string
  /** The path after the resource's own name, and the parameters that its query may have. */
  readonly form: string
  params(segments: readonly string[], query: URLSearchParams): readonly unknown[]
}

/** Name of the first segment → resource. A block hash always follows. */
const resources: ReadonlyMap<string, Resource> = new Map(
  Object.entries<Resource>({
    block: {
      method: 'eth_getBlockByHash',
      form: '/<block hash>?full=true',
      params: ([hash], query) => [hash, readFull(query.get('full') ?? 'true')],
    },
    receipts: {
      method: 'eth_getBlockReceipts',
      form: '/<block hash>',
      params: ([hash]) => [hash],
    },
    tx: {
      method: 'eth_getTransactionByBlockHashAndIndex',
      form: '/<block hash>/<index>',
      params: ([hash, index = '']) => [hash, /^\d{1,15}$/.test(index) ? toQuantity(Number(index)) : index],
    },
    storage: {
      method: 'eth_getStorageAt',
      form: '/<block hash>/<address>/<slot>',
      params: ([hash, address, slot]) => [address, slot, hash],
    },
    proof: {
      method: 'eth_getProof',
      form: '/<block hash>/<address>?keys=<slot>,<slot>',
      params: ([hash, address], query) => [
        address,
        (query.get('keys') ?? '').split(',').filter((key) => key !== ''),
        hash,
      ],
    },
  }),
)

const hashPattern = /^0x[0-9a-f]{64}$/i

/** Maximum length of a part of a name in an error message. */
const quotedMax = 80

/** Whether a path with these segments after the key names a resource. */
export function isResource([name = '']: readonly string[]): boolean {
  return resources.has(name)
}

/** The body of the call for a name, or the fault of the name. */
export function resourceCall(name: ResourceName): string | Fault {
  try {
    return readName(name)
  } catch (thrown) {
    if (thrown instanceof FaultError) return thrown.fault
    throw thrown
  }
}

function readName({ segments, query }: ResourceName): string {
  const [name = '', ...rest] = segments
  const resource = resources.get(name)
  if (resource === undefined) throw invalidFault(`there is no resource ${quote(name)}`)
  const { method, form } = resource
  const [, queryName] = /\?(\w+)=/.exec(form) ?? []
  if (rest.length !== form.replace(/\?.*/, '').split('/').length - 1)
    throw invalidFault(`want ${name}${form}`)
  if (!hashPattern.test(rest[0] ?? '')) {
    throw invalidFault(`want a block hash (0x and 64 hex digits), got ${quote(rest[0] ?? '')}`)
  }
  const asked = new URLSearchParams(query)
  const names = [...asked.keys()]
  for (const [at, key] of names.entries()) {
    if (key !== queryName) throw invalidFault(`unknown parameter ${quote(key)}`)
    if (names.indexOf(key) !== at) throw invalidFault(`parameter ${quote(key)} is there twice`)
  }
  return JSON.stringify({ jsonrpc: '2.0', id: null, method, params: resource.params(rest, asked) })
}

function readFull(text: string): boolean {
  if (text !== 'true' && text !== 'false')
    throw invalidFault(`want full=true or full=false, got ${quote(text)}`)
  return text === 'true'
}

function quote(text: string): string {
  return JSON.stringify(excerpt(text, quotedMax))
}

/** HTTP status of a call that failed; `fault` is undefined for a defect. */
export function resourceStatus(fault: Fault | undefined): number {
  if (fault === undefined) return 500
  const { status } = faultToHttpStatus(fault)
  if (status !== 200) return status
  switch (fault.kind) {
    case 'MethodNotAllowed':
      return 403
    case 'RequestTimedOut':
      return 503
    default: {
      const { code } = faultToWireError(fault)
      // -32601: the network has no such method. Other faults mean that this node does not have the requested data.
      return code === -32602 || code === -32600 || code === -38026 ? 400 : 404
    }
  }
}
