/**
 * What this room asks of the library beneath it. There are two: uWebSockets.js (`uws/`) and node:http with ws (`node/`).
 * Whatever means the same on both is written once, above this line; an adapter owns the library's objects and hides
 * its rules: nothing here is called after its end on the library's side.
 */
import { OperatorError } from '../primitives/faults.js'
import type { Answer, AnswerBody } from '../rpc/answer.js'
import type { RequestHead } from './requestHead.js'

/** Header lines that depend on the request, in the order they are written. */
export type ExtraHeaders = readonly (readonly [name: string, value: string])[]
export const noHeaders: ExtraHeaders = []

/** Messages are read up to so much beyond the limit, so that the client can be told that they are too long. */
export const tooBigBytes = 16 * 1024

export interface Address {
  readonly host: string
  readonly port: number
}

export function cannotListen({ host, port }: Address): OperatorError {
  return new OperatorError(
    `Cannot listen on ${host}:${port}: choose another address or port, or stop the process that uses it.`,
  )
}

export interface Transport {
  readonly name: 'uws' | 'node'
  /** What lies in the library of a WebSocket's unfinished message is reported to {@link SocketHandler.onUnfinished}. */
  readonly tellsUnfinished: boolean
  /**
   * The port on which several edges may listen next, by {@link Wire.listen} with `isShared`. It is taken alone for a
   * moment: that finds a free one for 0, and another process that listens on it. Throws OperatorError for that one,
   * and where the port cannot be shared.
   */
  findSharedPort(address: Address): Promise<number>
  createWire(handlers: WireHandlers, limits: WireLimits): Wire
}

export interface WireLimits {
  /** From a connection's first byte to the end of a request's headers. */
  readonly headMsMax: number
  /** Bytes of a WebSocket's message. */
  readonly messageBytesMax: number
  /** How long a WebSocket may be silent. */
  readonly idleMsMax: number
}

/** A port that is listened on, and its connections. */
export interface Wire {
  /** How many there are; WebSockets are not counted. */
  readonly connections: number
  /** Resolves to the port. With `isShared` others may listen on it too. Throws OperatorError where it cannot be had. */
  listen(address: Address, isShared: boolean): Promise<number>
  /** Takes no new connections; those that are open go on. */
  stopListening(): void
  /** Ends all connections at once, and listens no more. */
  close(): void
}

export interface WireHandlers {
  /**
   * A request that wants no WebSocket. `head` is valid until the call returns; by then `reply` has been used: `send`,
   * `refuse`, `receive` or `wait`.
   */
  onRequest(head: RequestHead, reply: Reply): void
  /** A request that wants one: a permit for it, or the answer that refuses, perhaps later. `head` as above. */
  onUpgrade(head: RequestHead): SocketPermit | Answer | Promise<Answer>
}

/** The answer to one request, and its body on the way in. Once it is over, calls do nothing. */
export interface Reply {
  /** Takes the body in, by which the answer may come later. */
  receive(receiver: BodyReceiver): void
  /** Lets the answer come later, whatever the body says; nothing more is read until then. */
  wait(): void
  /** Reads no more of the body, as far as the library can leave it. */
  pause(): void
  resume(): void
  /**
   * Sends an answer whole; it is not kept. HEAD gets its headers alone. `isLast`: nothing more of this connection is
   * read, and it ends once this is sent.
   */
  send(answer: Answer, headers: ExtraHeaders, isLast: boolean): void
  /**
   * Sends a short answer as the last one. No request after this one is begun, not even one that came in the same
   * packet: where this one ends is in doubt.
   */
  refuse(answer: Answer): void
  /** Ends the connection with no answer, or amid one; the receiver's `over` is called before this returns. */
  cut(): void
}

export interface BodyReceiver {
  /** Part of the body, valid until the call returns. Not called once the answer is given to {@link Reply.send}. */
  take(chunk: Uint8Array, isLast: boolean): void
  /** The answer is handed over, of a long one the last byte, or the connection is over. Called once. */
  over(): void
}

/** Leave for one WebSocket, counted already: one of the two is called, once. */
export interface SocketPermit {
  open(wire: SocketWire): SocketHandler
  /** It did not come to a WebSocket. */
  release(): void
}

/** One WebSocket. Once `onClose` of its handler was called, it is not touched again. */
export interface SocketWire {
  /** Bytes handed over that the system has not taken yet. */
  readonly unsentBytes: number
  /** Hands over one text message; it is not kept. What the system does not take waits. */
  send(message: AnswerBody | Uint8Array): void
  ping(): void
  /** Reads on no more, as far as the library can leave it: what has come in may still be handled. */
  pause(): void
  resume(): void
  /** Sends a close frame behind what waits. */
  end(code: number, reason: string): void
  /** Ends the connection at once. */
  cut(): void
}

export interface SocketHandler {
  /** `message` is valid until the call returns. */
  onMessage(message: Uint8Array, isBinary: boolean): void
  /** So many bytes lie in the library of a message that is not whole yet; called where the library says. */
  onUnfinished(bytes: number): void
  /** A ping has come, which the library answers. */
  onPing(): void
  /** A pong has come. */
  onActivity(): void
  /** The system has taken some of what was unsent. */
  onDrain(): void
  /** The connection is over, whoever ended it. */
  onClose(): void
}
