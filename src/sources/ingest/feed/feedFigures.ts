import type { FeedFigures } from '../../feed/blockDiffLog.js'
import type { IngestMessage } from '../thread/messages.js'

/** The message; if it has figures of a source, the position in the feed is added. */
export function withFeedFigures(message: IngestMessage, feed: { figures(): FeedFigures }): IngestMessage {
  if (message.type !== 'figures') return message
  return { type: 'figures', figures: { ...message.figures, feed: feed.figures() } }
}
