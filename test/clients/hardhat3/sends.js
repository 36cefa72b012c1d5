/** The calls of a script of a project whose network signs: `accounts: 'remote'`. Prints the results as JSON. */
import { network } from 'hardhat'

const { ethers, provider } = await network.create()
const [signer] = await ethers.getSigners()
const receipt = await (await signer.sendTransaction({ to: process.env.TO, value: 5n })).wait()
const factory = new ethers.ContractFactory([], '0x600a600c600039600a6000f3602a60005260206000f3', signer)
const contract = await factory.deploy()
await contract.waitForDeployment()
console.log(
  JSON.stringify({
    from: receipt.from,
    status: receipt.status,
    balance: String(await ethers.provider.getBalance(process.env.TO)),
    code: await ethers.provider.getCode(await contract.getAddress()),
    accounts: await provider.request({ method: 'eth_accounts' }),
    signer: ethers.verifyMessage('ahoy', await signer.signMessage('ahoy')),
  }),
)
