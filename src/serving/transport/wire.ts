/**
 * The interface to the HTTP library. It has two adapters: uWebSockets.js (`uws/`) and node:http with ws (`node/`).
 * Everything that both share is written once, above this interface. An adapter owns the library's objects and hides its
 * rules; for example, it calls nothing here after the library's object has ended.
 */

import { STATUS_CODES } from 'node:http'
import { OperatorError } from '../../primitives/faults.js'
import type { Answer, AnswerBody } from '../rpc/answers/answer.js'
import type { RequestHead } from './requestHead.js'
import type { TlsFiles } from './tlsFiles.js'

/** Header lines that depend on the request, in sending order. */
export type ExtraHeaders = readonly (readonly [name: string, value: string])[]
export const noHeaders: ExtraHeaders = []

/** A message is read up to this many bytes beyond the limit, so that the client can be informed that it is too long. */
export const tooBigBytes = 16 * 1024

export interface Address {
  readonly host: string
  readonly port: number
}

/** `code`: the reason, as Node.js names it; undefined if it is unknown. */
export function cannotListen({ host, port }: Address, code: string | undefined): OperatorError {
  return new OperatorError(`Cannot listen on ${host}:${port}: ${listenAdvice[code ?? ''] ?? inUse}`)
}

const inUse = 'choose another address or port, or stop the process that uses it.'
const noAddress = 'this machine has no such address; choose one of its own, or 0.0.0.0 or :: for all of them.'
const listenAdvice: Readonly<Record<string, string>> = {
  EACCES:
    'this user may not use that port; choose one from 1024 on, or let the program have CAP_NET_BIND_SERVICE.',
  EADDRNOTAVAIL: noAddress,
  EAFNOSUPPORT: noAddress,
  ENOTFOUND: 'no address is known for this host name; choose an address of this machine.',
}

export interface Transport {
  readonly name: 'uws' | 'node'
  /** Whether {@link SocketHandler.onUnfinished} gets the bytes of unfinished WebSocket messages. */
  readonly reportsUnfinished: boolean
  /**
   * The port on which one edge can then listen, or several by {@link Wire.listen} with `isShared`. Listens on it
   * exclusively for a moment, which finds a free port for 0. Rejects with OperatorError if another process listens on
   * it, or if ports must be shared and cannot.
   */
  findPort(address: Address, isShared: boolean): Promise<number>
  /** With `tls` the wire speaks HTTPS and WSS. Throws OperatorError if its files cannot be used. */
  createWire(handlers: WireHandlers, limits: WireLimits, tls?: TlsFiles): Wire
}

/**
 * New connections that wait while the thread is busy. A client beyond them tries again after 1, 3 and 7 s, so a burst of
 * 2,000 subscribers took seconds. Linux allows as many by default (`net.core.somaxconn`), and programs in Go take them all.
 */
export const queuedConnectionsMax = 4_096

export interface WireLimits {
  /** Time from a connection's first byte to the end of a request's headers. */
  readonly headMsMax: number
  readonly messageBytesMax: number
  readonly idleMsMax: number
  /** Maximum connections, WebSockets included; further ones are accepted and ended at once. */
  readonly connectionsMax: number
}

/** A listening socket and its connections. */
export interface Wire {
  readonly connections: number
  /** Resolves to the port, which others may share with `isShared`. Rejects with OperatorError if listening fails. */
  listen(address: Address, isShared: boolean): Promise<number>
  /**
   * Uses these files for new connections; open ones continue. Rejects with OperatorError if the files cannot be used.
   * Only for a wire created with `tls`, while it listens.
   */
  renewTls(files: TlsFiles): Promise<void>
  /** Accepts no new connections; open ones continue. */
  stopListening(): void
  /** Ends all connections at once and stops listening. */
  close(): void
}

export interface WireHandlers {
  /** Called for each connection above {@link WireLimits.connectionsMax}. */
  onFull(): void
  /** The client of a request from `peer` with this X-Forwarded-For; see {@link TrustedProxies.clientOf}. */
  clientOf(peer: string, forwardedFor: string): string
  /**
   * Called for an HTTP request. `head` is valid until the call returns; before that, the handler must call `send`,
   * `refuse`, `receive` or `wait` of `reply`.
   */
  onRequest(head: RequestHead, reply: Reply): void
  /**
   * Called for a request to open a WebSocket. Returns a permit, or the refusal, possibly later. `head` is valid until
   * the call returns.
   */
  onUpgrade(head: RequestHead): SocketPermit | Answer | Promise<Answer>
}

/** The answer to one request, and the reading of its body. Once it is over, calls do nothing. */
export interface Reply {
  /** Reads the body; the answer may come later. */
  receive(receiver: BodyReceiver): void
  /** Delays the answer without reading the body; nothing is read until then. `end` as for {@link receive}. */
  wait(end?: Receiver): void
  /** Stops reading the body, if the library can. */
  pause(): void
  resume(): void
  /**
   * Sends the whole answer; does not keep `answer`. For HEAD it sends only the headers. `isLast`: a header announces
   * the end of the connection, which ends after this answer. After a long answer over uWebSockets.js it ends with the
   * wire.
   */
  send(answer: Answer, headers: ExtraHeaders, isLast: boolean): void
  /**
   * Sends a short answer as the last one of the connection. No later request is handled, not even one in the same
   * packet, because the end of this request is ambiguous.
   */
  refuse(answer: Answer): void
  /** Ends the connection without an answer, or within one. The receiver's `over` is called before this returns. */
  cut(): void
}

/** The owner of a reply: it learns when the answer has ended. */
export interface Receiver {
  /** Id of its key; keys take turns to send long answers. */
  readonly keyId: string
  /** Called once, when the last byte of the answer is handed to the library, or the connection is over. */
  over(): void
}

export interface BodyReceiver extends Receiver {
  /** Takes part of the body, valid until the call returns. Not called after {@link Reply.send}. */
  take(chunk: Uint8Array, isLast: boolean): void
}

/** Permission for one WebSocket, which is already counted. Exactly one of the two functions is called, once. */
export interface SocketPermit {
  open(wire: SocketWire): SocketHandler
  /** Call this if no WebSocket was opened. */
  release(): void
}

/** One WebSocket. Not used after `onClose` of its handler was called. */
export interface SocketWire {
  /** Bytes passed to {@link send} or {@link sendFragment} that the operating system has not accepted yet. */
  readonly unsentBytes: number
  /** Sends one text message; does not keep it. Bytes that the operating system does not accept wait in the library. */
  send(message: AnswerBody | Uint8Array): void
  /** Sends the next part of a long text message; the caller sends no other message before its last one. */
  sendFragment(part: Uint8Array, isFirst: boolean, isLast: boolean): void
  ping(): void
  /** Stops reading, if the library can. Messages that have arrived may still be delivered. */
  pause(): void
  resume(): void
  /** Sends a close frame after everything that waits. */
  end(code: number, reason: string): void
  cut(): void
}

export interface SocketHandler {
  /** `message` is valid until the call returns. */
  onMessage(message: Uint8Array, isBinary: boolean): void
  /** Called with the bytes that the library stores of an unfinished message, if it reports them. */
  onUnfinished(bytes: number): void
  /** Called for each ping; the library answers it. */
  onPing(): void
  onActivity(): void
  /** Called when some unsent bytes were sent. */
  onDrain(): void
  /**
   * Called when the connection is over; either side may have ended it. `isTooBig`: the library ended it because a
   * message was too long, and the client got no reason.
   */
  onClose(isTooBig?: boolean): void
}

/** Whether answers with this status have no body, and therefore no content type and length. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

export function statusReason(status: number): string {
  // The name of RFC 9110; Node.js has an older one.
  return status === 413 ? 'Content Too Large' : (STATUS_CODES[status] ?? '')
}

const MiB = 2 ** 20

/**
 * Maximum memory of unfinished messages of one key over a library that does not report them: the longest message times
 * the WebSockets of a key.
 */
const unseenBytesMax = 1024 * MiB

/**
 * geth's limit if unfinished messages are counted. Otherwise 4 MiB, twice a transaction with six blobs in hex, which
 * allows a key 256 WebSockets.
 */
export function messageBytesDefault({ reportsUnfinished }: Transport): number {
  return reportsUnfinished ? 32 * MiB : 4 * MiB
}

/** Maximum WebSockets of a key within {@link unseenBytesMax}. */
export function socketsPerKeyFor({ reportsUnfinished }: Transport, messageBytesMax: number): number {
  return reportsUnfinished
    ? Number.POSITIVE_INFINITY
    : Math.max(Math.floor(unseenBytesMax / messageBytesMax), 1)
}
