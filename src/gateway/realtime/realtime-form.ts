/** Defines what connecting a session needs of a realtime format. */
import type { SocketMessage } from './event-queue.ts';
import type { SessionPorts, SessionRules } from './session-ports.ts';
import type { SessionTerms } from './session-terms.ts';

/** A session that can be requested of one target. */
export interface PreparedTarget {
  /** Path of the WebSocket, with the query. */
  readonly path: string;
  /** Headers of the handshake, beside those of the target. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as soon as the provider has accepted; null for nothing. */
  readonly opening: string | null;
  /** Gives back what was reserved for a session that is not opened. */
  release(): void;
  /** Called once, when the session is opened. */
  rulesOf(ports: SessionPorts): SessionRules;
}

export interface RealtimeForm {
  /** @throws GatewayError when the target cannot serve the session */
  prepare(terms: SessionTerms): Promise<PreparedTarget>;
  /** The reason why the provider refuses the session, in its first message; null if it does not. */
  refusalIn(first: SocketMessage): string | null;
}
