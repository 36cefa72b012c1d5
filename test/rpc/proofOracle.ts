/**
 * Verifies proofs without the service's code: nodes are hashed and decoded here, and each must be used. Owns the
 * meaning of an `eth_getProof` answer against a state root.
 */
import { RLP } from '@ethereumjs/rlp'
import { keccak_256 } from '@noble/hashes/sha3.js'

type Raw = Uint8Array | Raw[]

export interface StorageProofAnswer {
  readonly key: string
  readonly value: string
  readonly proof: readonly string[]
}

export interface ProofAnswer {
  readonly address: string
  readonly accountProof: readonly string[]
  readonly balance: string
  readonly codeHash: string
  readonly nonce: string
  readonly storageHash: string
  readonly storageProof: readonly StorageProofAnswer[]
}

const emptyRoot = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
const emptyCode = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

export function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'))
}

function quantity(bytes: Uint8Array): string {
  return `0x${BigInt(bytes.length === 0 ? '0x0' : hex(bytes)).toString(16)}`
}

interface Node {
  readonly hash: string
  readonly items: Raw
}

/** Nodes of tries by their hex: most proofs share nodes with others, and hashing takes longest. */
const nodes = new Map<string, Node>()
const nodesMax = 50_000

function readNode(text: string): Node {
  const known = nodes.get(text)
  if (known !== undefined) return known
  if (nodes.size >= nodesMax) nodes.clear()
  const rlp = bytesOf(text)
  const node = { hash: hex(keccak_256(rlp)), items: RLP.decode(rlp) as Raw }
  nodes.set(text, node)
  return node
}

/**
 * The value that `proof` shows under the 32-byte `key` below `root`, or undefined if it shows that there is none.
 * Throws for a proof with a missing node, an unused node, or a node that differs from its parent's reference.
 */
export function verifyNodes(root: string, key: Uint8Array, proof: readonly string[]): Uint8Array | undefined {
  if (root === emptyRoot) {
    if (proof.length > 0) throw new Error('nodes of a trie without entries')
    return undefined
  }
  const nibbles = Buffer.from(key).toString('hex')
  let used = 0
  const take = (hash: string): Raw => {
    const text = proof[used++]
    if (text === undefined) throw new Error(`node ${used - 1} is missing`)
    const node = readNode(text)
    if (node.hash !== hash) throw new Error(`node ${used - 1} is not ${hash}`)
    return node.items
  }
  const finish = (value: Uint8Array | undefined): Uint8Array | undefined => {
    if (used !== proof.length) throw new Error(`${proof.length - used} nodes too many`)
    return value
  }
  let node = take(root)
  let depth = 0
  for (;;) {
    let child: Raw
    if (node.length === 17) {
      child = node[Number.parseInt(nibbles[depth++] as string, 16)] as Raw
    } else {
      const coded = Buffer.from(node[0] as Uint8Array).toString('hex')
      const path = coded.slice('02'.includes(coded[0] as string) ? 2 : 1)
      if (!nibbles.startsWith(path, depth)) return finish(undefined)
      depth += path.length
      child = node[1] as Raw
      if ('23'.includes(coded[0] as string)) return finish(child as Uint8Array)
    }
    if (child.length === 0) return finish(undefined)
    node = child instanceof Uint8Array ? take(hex(child)) : child
  }
}

/**
 * The account that an answer proves, RLP-coded, or undefined if it proves that there is none. The fields do not show
 * this, because an empty account could exist before EIP-161.
 */
export function provenAccount(stateRoot: string, answer: ProofAnswer): Uint8Array | undefined {
  return verifyNodes(stateRoot, keccak_256(bytesOf(answer.address)), answer.accountProof)
}

/** Checks a whole answer against a state root. Throws with the fault; returns the slots' values as 32 bytes. */
export function verifyAnswer(stateRoot: string, answer: ProofAnswer): string[] {
  const account = provenAccount(stateRoot, answer)
  const [nonce, balance, storageHash, codeHash] =
    account === undefined ? [] : (RLP.decode(account) as Uint8Array[])
  const expected = {
    nonce: quantity(nonce ?? new Uint8Array()),
    balance: quantity(balance ?? new Uint8Array()),
    storageHash: storageHash === undefined ? emptyRoot : hex(storageHash),
    codeHash: codeHash === undefined ? emptyCode : hex(codeHash),
  }
  for (const [field, value] of Object.entries(expected)) {
    const said = answer[field as keyof typeof expected]
    if (said !== value) throw new Error(`${field} is ${value}, the answer says ${said}`)
  }
  return answer.storageProof.map(({ key, value, proof }) => {
    const slot = bytesOf(`0x${key.slice(2).padStart(64, '0')}`)
    const found = verifyNodes(answer.storageHash, keccak_256(slot), proof)
    const proven = found === undefined ? '0x0' : quantity(RLP.decode(found) as Uint8Array)
    if (proven !== value) throw new Error(`slot ${key} is ${proven}, the answer says ${value}`)
    return `0x${value.slice(2).padStart(64, '0')}`
  })
}
