/** The first reads of a script of a Hardhat project, as one line of JSON. */
const { ethers } = require('hardhat')

async function read({ tide, hash, bea }) {
  const { provider } = ethers
  const [signer] = await ethers.getSigners()
  const token = await ethers.getContractAt(
    [
      'function totalSupply() view returns (uint256)',
      'event Transfer(address indexed from, address indexed to, uint256 value)',
    ],
    tide,
  )
  const sending = signer.sendTransaction({ to: bea, gasLimit: 100_000 }).then(
    () => 'sent',
    (error) => error.message,
  )
  return {
    chainId: (await provider.getNetwork()).chainId,
    head: (await provider.getBlock('latest')).hash,
    full: (await provider.getBlock(100, true)).prefetchedTransactions.length,
    balance: await provider.getBalance(signer.address),
    nonce: await signer.getNonce(),
    supply: await token.totalSupply(),
    transfers: (await token.queryFilter('Transfer', 0)).length,
    code: await provider.getCode(tide),
    slot: await provider.getStorage(tide, 0),
    gasPrice: (await provider.getFeeData()).gasPrice,
    block: (await provider.getTransaction(hash)).blockNumber,
    status: (await provider.getTransactionReceipt(hash)).status,
    estimate: await provider.estimateGas({ to: bea, data: '0x' }),
    sending: await sending,
  }
}

read(JSON.parse(process.env.FACTS)).then((found) =>
  console.log(JSON.stringify(found, (_, value) => (typeof value === 'bigint' ? String(value) : value))),
)
