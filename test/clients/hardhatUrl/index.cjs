/**
 * Stands for the package `hardhat` (68 MB), of which the network helpers use only the provider of the chosen network.
 * Here it is a network with a `url`. A test sets it before the first call.
 */
const network = {
  name: 'tidegate',
  url: '',
  provider: {
    async request({ method, params = [] }) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { 'content-type': 'application/json' }
      const { result, error } = await (await fetch(network.url, { method: 'POST', body, headers })).json()
      if (error !== undefined) throw Object.assign(new Error(error.message), error)
      return result
    },
  },
}

exports.network = network
