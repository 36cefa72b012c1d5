import { checkHeaders } from '../../rpc/headers.js'

await checkHeaders('eth_getHeaderByHash', 'hash')
