/**
 * Loads a build of uWebSockets.js. Two are installed, with different versions and makers (docs/libraries.md). The
 * binaries of one need glibc 2.38 on Linux; the other needs an older one and has a fault.
 */

import type * as Library from 'uWebSockets.js'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

function load(): { readonly library: typeof Library; readonly isFaulty: boolean } {
  try {
    return { library: require('uWebSockets.js'), isFaulty: false }
  } catch (error) {
    try {
      return { library: require('uwebsockets'), isFaulty: true }
    } catch {
      throw error
    }
  }
}

/**
 * `isFaulty`: the library answers with 505 and ends the connection if a request's first line comes in two TCP segments
 * (uNetworking/uWebSockets issue 1776). It does the same for HTTP/1.0.
 */
export const { library: uWS, isFaulty } = load()
