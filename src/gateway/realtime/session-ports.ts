/** Defines what the rules of a realtime format receive from an open session, and what the session calls in them. */
import type { GatewayErrorCode } from '../transfer/gateway-error.ts';
import type { SocketMessage } from './event-queue.ts';
import type { SessionLog } from './session-log.ts';
import type { SessionTerms } from './session-terms.ts';

/** Why a session ends. */
export interface SessionEnd {
  /** Close code of WebSocket. */
  readonly code: number;
  readonly reason: string;
  /** Code of the gateway's own error; null when caller or provider has ended the session. */
  readonly errorCode: GatewayErrorCode | null;
}

export interface SessionPorts {
  readonly terms: SessionTerms;
  readonly log: SessionLog;
  readonly isEnded: boolean;
  /** Milliseconds since the epoch. */
  now(): number;
  toCaller(data: Buffer | string): void;
  toProvider(data: Buffer | string): void;
  /** Ends the session for both sides. */
  end(end: SessionEnd): void;
}

/** The rules of one realtime format for one session. */
export interface SessionRules {
  /** Whether the provider works on a response, or is about to. */
  readonly isBusy: boolean;
  /** Handles the first message of the provider, before any of the caller. */
  begin(first: SocketMessage): void;
  fromCaller(message: SocketMessage): void | Promise<void>;
  fromProvider(message: SocketMessage): void | Promise<void>;
  /** The limits have changed; false when the session cannot go on under them. */
  mayGoOn(): Promise<boolean>;
  /** Asks the provider to stop what it is doing; false when it does nothing. */
  cancel(): boolean;
  /** Charges what is still open; called once. */
  close(): void;
}
