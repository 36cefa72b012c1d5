import { redactUrls } from './redactUrl.js'

/**
 * Why an exchange over the network failed, for the log and for callers: its code, or else its words. All errors of
 * libraries that were given a URL pass here, since `fetch` for one repeats it with its password.
 */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const { code, message } = Object(cause) as Partial<NodeJS.ErrnoException>
  return code ?? redactUrls(message ?? 'unknown error')
}
