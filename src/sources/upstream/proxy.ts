/**
 * The proxy for a node: from its configuration, otherwise from the environment (`HTTP_PROXY`, `HTTPS_PROXY`,
 * `NO_PROXY`, in either case).
 */
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { authorization, causeOf } from '../../primitives/urls.js'
import { UpstreamFailure } from './line.js'

/** Undefined if there is no proxy. `configured` overrides the environment. */
export function proxyOf(url: URL, configured?: string): URL | undefined {
  if (configured !== undefined) return new URL(configured)
  const isTls = /^(https|wss):$/.test(url.protocol)
  const text = (isTls ? environment('HTTPS_PROXY') : undefined) ?? environment('HTTP_PROXY')
  return text === undefined || isExcepted(url) ? undefined : new URL(text)
}

/** Matches `NO_PROXY` as most programs do: names and their subdomains, with or without a port, and `*`. */
function isExcepted({ hostname, host }: URL): boolean {
  const names = (environment('NO_PROXY') ?? '').toLowerCase().split(/[,\s]+/)
  return names.some((entry) => {
    if (entry === '*') return true
    const name = entry.replace(/^\*?\./, '')
    return name !== '' && [hostname, host].some((each) => each === name || each.endsWith(`.${name}`))
  })
}

function environment(name: string): string | undefined {
  return process.env[name.toLowerCase()] || process.env[name] || undefined
}

/** The header that sends the user and password in a proxy's URL. */
export function proxyAuthorization(proxy: URL): Record<string, string> {
  const { authorization: value } = authorization(proxy)
  return value === undefined ? {} : { 'proxy-authorization': value }
}

/** A connection to the host of `url` through a proxy (CONNECT), with TLS for `wss:`. Rejects with UpstreamFailure. */
export function tunnel(proxy: URL, url: URL, msMax: number): Promise<Socket> {
  const isTls = url.protocol === 'wss:'
  const { hostname } = url
  const path = `${hostname}:${url.port || (isTls ? 443 : 80)}`
  const open = proxy.protocol === 'https:' ? requestTls : request
  const asked = open({
    host: proxy.hostname,
    port: proxy.port || undefined,
    method: 'CONNECT',
    path,
    headers: { host: path, ...proxyAuthorization(proxy) },
    timeout: msMax,
    agent: false,
  })
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new UpstreamFailure('unreachable', `the proxy: ${why}`))
    asked.on('connect', ({ statusCode }, socket) => {
      socket.setTimeout(0)
      if (statusCode === 200) return resolve(isTls ? connectTls({ socket, servername: hostname }) : socket)
      socket.destroy()
      fail(`HTTP status ${statusCode}`)
    })
    asked.on('response', ({ statusCode }) => {
      asked.destroy()
      fail(`HTTP status ${statusCode}`)
    })
    asked.on('timeout', () => asked.destroy(new Error('no answer in time')))
    asked.on('error', (error) => fail(causeOf(error)))
    asked.end()
  })
}
