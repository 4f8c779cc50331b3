/** Keeps the stream of a legacy client open with a subscription to a modern server. */

import { detach } from '../../detached.ts';
import { isObject } from '../../model/json/read-object.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { CallCut } from '../../upstream/call.ts';
import { modernHeaders, modernParams } from '../messages/modern-request.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import { firstModernVersion } from '../messages/verify-headers.ts';
import type { LiveResponse } from '../transfer/response-chunks.ts';
import type { BridgePort } from './bridge-port.ts';
import { legacyNotification } from './legacy-messages.ts';
import type { LegacyReply } from './legacy-reply.ts';
import type { LegacySession } from './legacy-session.ts';
import { messagesIn } from './response-messages.ts';

const method = 'subscriptions/listen';

export class LegacyStream {
  readonly #port: BridgePort;
  readonly #session: LegacySession;
  readonly #reply: LegacyReply;
  readonly #ended = Promise.withResolvers<void>();
  #live: LiveResponse | null = null;
  #uris: readonly string[] = [];
  #count = 0;
  #isSubscribing = false;

  constructor(port: BridgePort, session: LegacySession, reply: LegacyReply) {
    this.#port = port;
    this.#session = session;
    this.#reply = reply;
  }

  /** Resolves when the stream ends. @throws PlaneFault when the server offers no subscriptions */
  async run(uris: readonly string[]): Promise<void> {
    const { response } = this.#port;
    const forget = this.#port.follow(() => this.#ended.resolve());
    response.once('close', () => this.#ended.resolve());
    try {
      await this.subscribe(uris);
      this.#reply.begin();
      await this.#ended.promise;
      if (!response.destroyed) response.end();
    } finally {
      forget();
      this.#live?.cut(new CallCut('the stream has ended'));
    }
  }

  /** Replaces the subscription when the addresses differ; the old one ends when the new one has begun. */
  async subscribe(uris: readonly string[]): Promise<void> {
    const isSame = this.#live !== null && uris.join('\n') === this.#uris.join('\n');
    if (isSame || this.#isSubscribing) return;
    this.#isSubscribing = true;
    try {
      await this.#listen(uris);
      this.#uris = uris;
    } finally {
      this.#isSubscribing = false;
    }
  }

  async #listen(uris: readonly string[]): Promise<void> {
    this.#count += 1;
    const { capabilities, client: info } = this.#session;
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
    };
    const client = { version: firstModernVersion, capabilities, info, logLevel: null };
    const params = modernParams({ notifications }, client);
    const headers = modernHeaders(method, params, firstModernVersion);
    const id = `listen.${this.#count}`;
    const live = await this.#port.send(headers, { jsonrpc: '2.0', id, method, params }, true);
    const isStream = isEventStream(live.headers);
    if (live.status !== 200 || !isStream) {
      live.cut(new CallCut('the server offers no stream'));
      const text = 'The MCP server offers no stream of its own messages';
      throw new PlaneFault('method_not_allowed', text, { headers: { allow: 'POST, DELETE' } });
    }
    const before = this.#live;
    this.#live = live;
    before?.cut(new CallCut('the subscription has changed'));
    detach('relaying the notices of an MCP server', this.#relay(live));
  }

  /** Never rejects. */
  async #relay(live: LiveResponse): Promise<void> {
    try {
      for await (const message of messagesIn(live, this.#port.beginReading())) {
        const notification = isObject(message) ? legacyNotification(message) : null;
        const taken = notification === null ? null : await this.#port.take(notification);
        if (taken !== null) await this.#reply.send(taken);
      }
    } catch {
      // The server broke off, or another subscription replaced this one.
    }
    if (live === this.#live) this.#ended.resolve();
  }
}
