/** Serves legacy clients of servers that speak the modern era only. */
import { detach } from '../../detached.ts';
import type { NoteStore } from '../../store/records/gateway-records.ts';
import { PlaneFault, serverUnusable } from '../messages/plane-fault.ts';
import type { ClientMessage, RpcObject } from '../messages/read-messages.ts';
import type { BridgePort } from './bridge-port.ts';
import { CallRunner } from './call-runner.ts';
import { initializeResult } from './legacy-messages.ts';
import { LegacyReply } from './legacy-reply.ts';
import { type LegacySession, type LegacySessions, sessionOf } from './legacy-session.ts';
import { LegacyStream } from './legacy-stream.ts';
import { probeEra } from './probe-era.ts';
import { SessionWatch } from './session-notes.ts';
import { SessionSettings } from './session-settings.ts';

export class LegacyBridge {
  readonly #sessions: LegacySessions;
  readonly #watch: SessionWatch;
  readonly #settings: SessionSettings;
  readonly #calls: CallRunner;

  constructor(sessions: LegacySessions, store: NoteStore) {
    const watch = new SessionWatch(store);
    const settings = new SessionSettings(sessions, store);
    this.#sessions = sessions;
    this.#watch = watch;
    this.#settings = settings;
    this.#calls = new CallRunner({ sessions, settings, store, watch });
  }

  /** @throws PlaneFault one error for every id that is not a session of this key and server */
  open(sealed: string, port: Pick<BridgePort, 'owner' | 'now'>): LegacySession {
    return this.#sessions.open(sealed, port.owner, port.now());
  }

  /** Serves one message of a client. @throws PlaneFault before the response has begun */
  async serve(port: BridgePort, session: LegacySession, message: ClientMessage): Promise<void> {
    using reply = new LegacyReply(port);
    const { method, params, kind, id } = message;
    if (kind === 'response') {
      await this.#calls.takeAnswer(port, session, message);
      return reply.accept();
    }
    if (kind === 'notification') {
      if (method === 'notifications/cancelled') await this.#calls.cancel(port, session, params);
      return reply.accept();
    }
    if (method === 'initialize') return await this.#initialize(port, message, reply);
    const isDone = await this.#applyHere(port, session, method, params);
    if (isDone) await reply.end({ jsonrpc: '2.0', id, result: {} });
    else await this.#calls.run(port, session, message, reply);
  }

  /** Opens the stream on which a client receives what no call has caused. @throws PlaneFault */
  async stream(port: BridgePort, session: LegacySession): Promise<void> {
    using reply = new LegacyReply(port);
    const settings = this.#settings;
    const stream = new LegacyStream(port, session, reply);
    const uris = await settings.uris(port, session);
    const unwatch = this.#watch.add({
      organisationId: port.organisationId,
      sessionId: session.id,
      isUrgent: () => false,
      receive: (notes) => {
        // A failed subscription is tried again with the next notes.
        const subscribing = stream
          .subscribe(settings.urisIn(session, notes))
          .catch(() => undefined);
        detach('a subscription of an MCP session', subscribing);
      },
    });
    try {
      await stream.run(uris);
    } finally {
      unwatch();
    }
  }

  /** Forgets what the session has left. */
  async end(port: BridgePort, session: LegacySession): Promise<void> {
    await this.#settings.forget(port, session);
    using reply = new LegacyReply(port);
    reply.confirm();
  }

  /** Whether the gateway itself answers the method, which the modern era does not have. */
  async #applyHere(
    port: BridgePort,
    session: LegacySession,
    method: string,
    { level, uri }: RpcObject,
  ): Promise<boolean> {
    switch (method) {
      case 'ping':
        return true;
      case 'logging/setLevel':
        await this.#settings.setLevel(port, session, level);
        return true;
      case 'resources/subscribe':
        await this.#settings.subscribe(port, session, uri);
        return true;
      case 'resources/unsubscribe':
        await this.#settings.unsubscribe(port, session, uri);
        return true;
      default:
        return false;
    }
  }

  async #initialize(
    port: BridgePort,
    { id, params }: ClientMessage,
    reply: LegacyReply,
  ): Promise<void> {
    const { discovery } = await probeEra(port.ask);
    if (discovery === null) {
      port.onOtherEra();
      throw new PlaneFault('server_unusable', 'The MCP server does not describe itself');
    }
    const session = sessionOf(params, port.now());
    const sealed = this.#sessions.seal(session, port.owner);
    const response = { jsonrpc: '2.0', id, result: initializeResult(discovery, session) };
    const taken = await port.take(response);
    if (taken === null) throw serverUnusable('its description is withheld');
    await reply.end(taken, { 'mcp-session-id': sealed });
  }
}
