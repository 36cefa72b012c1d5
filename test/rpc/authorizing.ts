import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

const quantity = (value: number | bigint) => `0x${value.toString(16)}`

/** An account unknown to every chain, and its authorizations (EIP-7702) in the form of call objects. */
export function makeAuthority(delegate: `0x${string}`) {
  const account = privateKeyToAccount(generatePrivateKey())
  return {
    address: account.address,
    async authorize(chainId: number, nonce: number): Promise<object> {
      const { r, s, yParity } = await account.signAuthorization({ address: delegate, chainId, nonce })
      return {
        chainId: quantity(chainId),
        address: delegate,
        nonce: quantity(nonce),
        yParity: quantity(yParity as number),
        r: quantity(BigInt(r)),
        s: quantity(BigInt(s)),
      }
    },
  }
}
