/** A developer chain that signs for well-known accounts of test tools, and the same keys in viem. */
import type { Test } from 'tap'
import { createWalletClient, type Hex, http, publicActions } from 'viem'
import { type HDAccount, mnemonicToAccount } from 'viem/accounts'
import { localhost } from 'viem/chains'
import { mergedConfig, testGenesis } from '../ingest/chainMaker.js'
import { startDeveloper } from '../service/developerChain.js'
import type { Service } from '../service/service.js'
import { examples } from './demoChain.js'

const mnemonic = 'test test test test test test test test test test test junk'
const owners = Array.from({ length: 10 }, (_, addressIndex) => mnemonicToAccount(mnemonic, { addressIndex }))
/** The second has no ether. */
export const [owner, poor, other] = owners as [HDAccount, HDAccount, HDAccount]
export const rich = owners.filter((account) => account !== poor)
export const stranger: Hex = `0x${'57'.repeat(20)}`
/** An account of the demo network. */
export const ada = examples.accounts[0]?.address as Hex

/** A genesis in which all but one of the owners are rich. */
export function genesisOfOwners(config: object = mergedConfig()): object {
  const { alloc, ...rest } = testGenesis(config as never) as unknown as { alloc: object }
  const given = Object.fromEntries(rich.map(({ address }) => [address, { balance: '0xffffffffffffffffff' }]))
  return { ...rest, alloc: { ...alloc, ...given } }
}

export async function startSigners(t: Test, config?: object, limits: object = {}): Promise<Service> {
  return (await startDeveloper(t, { genesis: genesisOfOwners(config), limits })).service
}

/** Viem, with signatures by the node. */
export function walletOf({ origin }: Service, account: Hex) {
  return createWalletClient({
    account,
    chain: { ...localhost, id: 7357 },
    transport: http(origin, { timeout: 0 }),
    pollingInterval: 20,
    cacheTime: 0,
  }).extend(publicActions)
}

export const unknownHere = (address: string) =>
  `unknown account ${address.toLowerCase()}: its key is not known here`
export const unknownElsewhere = (address: string) =>
  `unknown account ${address.toLowerCase()}: this node has no key for it; sign elsewhere, and send it with eth_sendRawTransaction`
