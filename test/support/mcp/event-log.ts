/** Stores the events of the streams of one MCP session in memory, so that a client can resume a stream. */
import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

interface StoredEvent {
  readonly id: string;
  readonly streamId: string;
  readonly message: JSONRPCMessage;
}

export class EventLog implements EventStore {
  readonly #events: StoredEvent[] = [];

  storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = String(this.#events.length + 1);
    this.#events.push({ id, streamId, message });
    return Promise.resolve(id);
  }

  getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return Promise.resolve(this.#events.find(({ id }) => id === eventId)?.streamId);
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex(({ id }) => id === lastEventId);
    const streamId = this.#events[at]?.streamId;
    if (streamId === undefined) throw new Error(`no event has the id ${lastEventId}`);
    for (const event of this.#events.slice(at + 1)) {
      // An event that only opens a stream has no message.
      if (event.streamId === streamId && 'jsonrpc' in event.message) {
        await send(event.id, event.message);
      }
    }
    return streamId;
  }
}
