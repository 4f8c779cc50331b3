/** Keeps an open stream in step with the caller's rights and the server: reports changed lists, and ends it when either is gone. */
import { listNotices } from '../messages/capability-rules.ts';
import type { EventOutput } from '../streams/event-output.ts';
import type { OpenStream } from '../streams/open-streams.ts';
import type { McpExchange } from './mcp-exchange.ts';
import type { PlaneServer } from './plane-server.ts';
import type { ServerMessages } from './server-messages.ts';
import { authenticateCaller, requireServerUser, requireUsableServer } from './verify-calls.ts';

export interface FollowedStream {
  readonly output: EventOutput;
  readonly messages: ServerMessages;
  readonly end: () => void;
}

export function followChanges(
  exchange: McpExchange,
  { output, messages, end }: FollowedStream,
): OpenStream {
  const { services, arrival, credentials } = exchange;
  const slug = arrival.slug ?? '';
  let { key, server } = exchange;
  return {
    organisationId: key.organisationId,
    get endsAtMs() {
      return key.endsAtMs;
    },
    follow: async () => {
      try {
        key = await authenticateCaller(services, credentials[0] ?? null, slug, services.now());
        const current = await services.servers.find(key, slug);
        requireServerUser(key, current);
        requireUsableServer(current);
        if (addressOf(current) !== addressOf(server)) return end();
        const notices = listNotices(server, current);
        server = current;
        messages.useServer(current);
        for (const method of notices) {
          const notice = messages.noticeOf(method);
          if (notice !== null) output.insert(notice);
        }
      } catch (thrown) {
        // The change is found again once the database responds.
        if (!services.isUnavailable(thrown)) end();
      }
    },
    end,
  };
}

/** Where the stream leads and with which credentials; another address or credential needs a new stream. */
function addressOf({ id, url, isEventTransport, access, login }: PlaneServer): string {
  const { headers, passthrough, mapped } = access.reveal();
  const all = [...mapped, ...(login?.mapped ?? [])];
  const places = all.map(({ target, secretKey, place }) => [target, secretKey, place.mark]);
  const client = login?.client.reveal();
  return JSON.stringify([id, url.href, isEventTransport, headers, passthrough, places, client]);
}
