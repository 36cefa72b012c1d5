/** Compiles `contracts/*.sol`, each for the fork it is deployed under. The compiler's version is pinned in package.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import solc from 'solc'
import { hexToBytes } from '../../src/primitives/bytes.js'

/** Creation and runtime code of one contract, without metadata, so that they depend on the source alone. */
export interface Artifact {
  readonly name: string
  /** File name under `contracts/`. */
  readonly source: string
  readonly evmVersion: string
  readonly creationCode: Uint8Array
  readonly runtimeCode: Uint8Array
  /** The compiler's `storageLayout`. */
  readonly storageLayout: unknown
}

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<
      string,
      { evm: { bytecode: { object: string }; deployedBytecode: { object: string } }; storageLayout: unknown }
    >
  >
}

/** Solidity's name of the fork under which each file is deployed; code for a later fork would have unknown opcodes. */
const evmVersions = {
  'TideToken.sol': 'homestead',
  'Reverter.sol': 'byzantium',
  'Burner.sol': 'homestead',
  'Emitter.sol': 'homestead',
  'Shelf.sol': 'homestead',
  'Exchange.sol': 'byzantium',
  'Proxy.sol': 'byzantium',
  'Counter.sol': 'byzantium',
  'Phoenix.sol': 'constantinople',
  'Factory.sol': 'constantinople',
  'Chronicle.sol': 'istanbul',
  'Depositor.sol': 'london',
  'Latch.sol': 'cancun',
  'Wallet.sol': 'prague',
} as const

function compileFor(evmVersion: string, files: readonly string[], folder: string): Artifact[] {
  const sources = Object.fromEntries(
    files.map((file) => [file, { content: readFileSync(join(folder, file), 'utf8') }]),
  )
  const input = {
    language: 'Solidity',
    sources,
    settings: {
      evmVersion,
      optimizer: { enabled: true, runs: 200 },
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: {
        '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object', 'storageLayout'] },
      },
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput
  const failures = (output.errors ?? []).filter((error) => error.severity === 'error')
  if (failures.length > 0) throw new Error(failures.map((error) => error.formattedMessage).join('\n'))
  return Object.entries(output.contracts).flatMap(([source, contracts]) =>
    Object.entries(contracts).map(([name, { evm, storageLayout }]) => ({
      name,
      source,
      evmVersion,
      creationCode: hexToBytes(evm.bytecode.object),
      runtimeCode: hexToBytes(evm.deployedBytecode.object),
      storageLayout,
    })),
  )
}

/** Every contract of `folder` by its name. Throws with the compiler's own words when one does not compile. About 3 s. */
export function compileContracts(folder: string): Map<string, Artifact> {
  const artifacts = new Map<string, Artifact>()
  for (const evmVersion of new Set(Object.values(evmVersions))) {
    const files = Object.entries(evmVersions).flatMap(([file, version]) =>
      version === evmVersion ? [file] : [],
    )
    for (const artifact of compileFor(evmVersion, files, folder)) artifacts.set(artifact.name, artifact)
  }
  return artifacts
}
