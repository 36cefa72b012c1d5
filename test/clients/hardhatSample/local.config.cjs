/** The sample's configuration with the URL of a node, and with the compiler of npm, as Hardhat's own is fetched elsewhere. */
const { subtask } = require('hardhat/config')
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names')
const sample = require('./hardhat.config.js')

subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async ({ solcVersion }) => {
  const longVersion = require('solc').version()
  if (!longVersion.startsWith(`${solcVersion}+`))
    throw new Error(`solc is ${longVersion}, not ${solcVersion}`)
  return {
    compilerPath: require.resolve('solc/soljson.js'),
    isSolcJs: true,
    version: solcVersion,
    longVersion,
  }
})

module.exports = { ...sample, networks: { localhost: { url: process.env.TIDEGATE_URL } } }
