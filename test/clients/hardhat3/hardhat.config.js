import hardhatEthers from '@nomicfoundation/hardhat-ethers'
import { defineConfig } from 'hardhat/config'

export default defineConfig({
  plugins: [hardhatEthers],
  networks: { tidegate: { type: 'http', url: process.env.TIDEGATE_URL, accounts: 'remote' } },
})
