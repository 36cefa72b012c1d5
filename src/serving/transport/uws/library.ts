/**
 * The build of uWebSockets.js that serves. Two are installed, of other versions and makers (docs/libraries.md): one whose
 * binaries need glibc 2.38 on Linux, and one that needs less and has a fault.
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
 * `isFaulty`: it answers a request whose first line comes in two TCP segments with 505 and ends the connection
 * (uNetworking/uWebSockets issue 1776), and so HTTP/1.0.
 */
export const { library: uWS, isFaulty } = load()
