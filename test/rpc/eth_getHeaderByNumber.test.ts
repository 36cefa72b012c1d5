import { checkHeaders } from './headers.js'

await checkHeaders('eth_getHeaderByNumber', 'number')
