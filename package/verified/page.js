import { readBalance } from './readBalance.js'

const form = document.querySelector('form')
const output = document.querySelector('output')

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  output.textContent = '…'
  try {
    const { url, network, checkpoint, address } = Object.fromEntries(new FormData(form))
    const asked = { url, network: readNetwork(network), checkpoint, address }
    const { balance, slot, participants } = await readBalance(asked)
    output.textContent = `${balance} wei at slot ${slot}, signed by ${participants} of 512`
  } catch (error) {
    output.textContent = `not proved: ${error.message}`
  }
})

/** A chain id, or the consensus layer of a network as `beacon.network` of a configuration has it. */
function readNetwork(text) {
  if (/^[0-9]+$/.test(text)) return Number(text)
  const { genesisTime, genesisValidatorsRoot, forks } = JSON.parse(text)
  return {
    genesisTime,
    genesisValidatorsRoot: bytesOf(genesisValidatorsRoot),
    forks: forks.map((fork) => ({ ...fork, version: bytesOf(fork.version) })),
  }
}

function bytesOf(hex) {
  return Uint8Array.from(hex.slice(2).match(/../g), (digits) => Number.parseInt(digits, 16))
}
