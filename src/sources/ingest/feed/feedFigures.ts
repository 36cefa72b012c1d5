import type { FeedFigures } from '../../feed/blockDiffLog.js'
import type { IngestMessage } from '../messages.js'

/** The message; one with figures of a source also says where the process is in the feed. */
export function withFeedFigures(message: IngestMessage, feed: { figures(): FeedFigures }): IngestMessage {
  if (message.type !== 'figures') return message
  return { type: 'figures', figures: { ...message.figures, feed: feed.figures() } }
}
