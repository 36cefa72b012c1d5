/** Malformed requests, and requests that are slow to parse. Each is built when it is sent. */
import { rpc } from '../load/rpc.js'

/** Limits of a body, and of a WebSocket message in uWebSockets.js; a longer one ends its connection. */
export const bodyBytesMax = 5 * 2 ** 20
export const messageBytesMax = 2 ** 20

type Build = () => string | Uint8Array

function repeated(start: string, piece: string, end: string, bytes: number): string {
  return start + piece.repeat(Math.floor((bytes - start.length - end.length) / piece.length)) + end
}

/** Texts of about `bytes` bytes that take much time or memory to parse. */
export function hardTexts(bytes: number): readonly Build[] {
  return [
    () => '['.repeat(bytes),
    () => '{"a":'.repeat(Math.floor(bytes / 5)),
    () => repeated('[[', '{},', '{}]]', bytes),
    () => repeated('[', '{},', '{}]', bytes),
    () => repeated('[', '0,', '0]', bytes),
    () => repeated('[', '[],', '[]]', bytes),
    () => repeated('{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[', '[],', '0]}', bytes),
    () => repeated('{"jsonrpc":"2.0","id":"', '\\u0000', '","method":"eth_chainId"}', bytes),
    () => repeated('{"jsonrpc":"2.0","id":1,"method":"', 'é', '"}', bytes / 2),
    () => repeated('{', '"a":0,', '"a":0}', bytes),
    () => repeated('{"jsonrpc":"2.0","id":', '9', ',"method":"eth_chainId"}', bytes),
    () => repeated('', ' ', '{}', bytes),
    () => repeated('"', '\\"', '', bytes),
    () => repeated(`{"jsonrpc":"2.0","method":"eth_call","params":[{"data":"0x`, '00', '"}],"id":1}', bytes),
  ]
}

/** Short texts that are not valid calls. */
export const malformedTexts: readonly Build[] = [
  ...['', '{', '}', 'null', '[]', '{}', '0', '"x"', 'nul', '[1,2,3]', '[{}]', '[[]]', '\u0000', '{"id":1}'],
  ...['{"jsonrpc":"2.0"}', '{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}', '{"__proto__":{}}'],
  '{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}',
  '{"jsonrpc":"2.0","id":1,"method":7}',
  '{"jsonrpc":"2.0","id":1,"method":"constructor"}',
  '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{"a":1}}',
  '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"eth_call"}',
  rpc('eth_getStorageAt', ['0x', '0x', 'yesterday']),
  rpc('eth_getProof', [null, {}, []]),
  rpc('eth_call', [{ to: 7, data: '0xz' }, '0xffffffffffffffff']),
  rpc('tidegate_getMappingSlot', [[['0x'.repeat(40)]], '0x']),
  `[${Array.from({ length: 1_000 }, () => '{}').join(',')}]`,
].map((text) => () => text)

/** Bytes that are not UTF-8. */
export const notText: Build = () => Buffer.from([0x22, 0xc3, 0x28, 0xff, 0x22])

/** Malformed HTTP requests to a path. */
export function malformedRequests(path: string): readonly Build[] {
  const post = (headers: string, body = '') => `POST ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n${body}`
  const json = 'content-type: application/json\r\n'
  return [
    'x\r\n\r\n',
    '\r\n'.repeat(1_000),
    '\u0000'.repeat(1_000),
    `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`,
    `BREW ${path} HTTP/1.1\r\nhost: x\r\n\r\n`,
    `POST ${path} HTTP/9.9\r\nhost: x\r\n\r\n`,
    `POST ${path}${'x'.repeat(60_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
    `POST /v3/tg_no HTTP/1.1\r\nhost: x\r\n${json}content-length: 2\r\n\r\n{}`,
    post('content-length: 2\r\n', '{}'),
    post(`${json}content-length: -1\r\n`, '{}'),
    post(`${json}content-length: 99999999999999999999\r\n`, '{}'),
    post(`${json}content-length: 2\r\ncontent-length: 3\r\n`, '{}x'),
    post(`${json}content-length: 2\r\ntransfer-encoding: chunked\r\n`, '0\r\n\r\n'),
    post(`${json}transfer-encoding: chunked\r\n`, 'zz\r\n{}\r\n0\r\n\r\n'),
    post(`${json}transfer-encoding: chunked\r\n`, 'ffffffffffffffff\r\n{}'),
    post(`${json}content-length: ${bodyBytesMax + 1}\r\n`, '{}'),
    post(`x: ${'y'.repeat(100_000)}\r\n`),
    post('x: y\r\n'.repeat(500)),
  ].map((text) => () => text)
}
