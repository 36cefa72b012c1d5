/**
 * Where the events of one connection go. A transport implements it, one for each socket; a closed socket's sink does
 * nothing. Knows nothing of subscriptions.
 */
export interface EventSink {
  /** Bytes handed over that the system has not taken yet; 0 once the socket is closed. */
  readonly bufferedBytes: number
  /** Hands over one text message, UTF-8. `message` is copied before the call returns. */
  send(message: Uint8Array): void
  /** Ends the connection with a WebSocket close code and a reason of at most 123 bytes. */
  close(code: number, reason: string): void
}
