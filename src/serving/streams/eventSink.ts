/**
 * Sends the events of one connection. Transports implement it, one object per socket. The sink of a closed socket
 * does nothing.
 */
export interface EventSink {
  /** Bytes passed to {@link send} that the operating system has not accepted yet; 0 once the socket is closed. */
  readonly bufferedBytes: number
  /** Sends one text message, UTF-8. `message` is copied before the call returns. */
  send(message: Uint8Array): void
  /** Ends the connection with a WebSocket close code and a reason of at most 123 bytes. */
  close(code: number, reason: string): void
}
