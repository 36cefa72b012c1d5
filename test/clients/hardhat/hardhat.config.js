require('@nomicfoundation/hardhat-ethers')

module.exports = {
  solidity: '0.8.26',
  networks: { tidegate: { url: process.env.TIDEGATE_URL, accounts: [`0x${'01'.repeat(32)}`] } },
}
