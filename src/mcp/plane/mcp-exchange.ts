/** Defines an MCP request that is being served, with what has been resolved for it. */
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import type { Metadata } from '../../gateway/callers/metadata.ts';
import { readExactJson } from '../../model/json/exact-numbers.ts';
import type { Secret } from '../../secret.ts';
import { longLengthMin, run } from '../../slices.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { McpEra } from '../messages/verify-headers.ts';
import type { UserAuthorization } from '../oauth/user-authorization.ts';
import type { RoundParties } from '../rounds/call-rounds.ts';
import type { PlaneCall } from './plane-call.ts';
import type { PlaneReply } from './plane-reply.ts';
import type { PlaneServer } from './plane-server.ts';
import type { McpArrival, PlaneServices } from './plane-services.ts';

/** A request with its caller and server. */
export interface McpExchange {
  readonly services: PlaneServices;
  readonly arrival: McpArrival;
  readonly reply: PlaneReply;
  readonly key: GatewayKey;
  readonly server: PlaneServer;
  readonly metadata: Metadata;
  /** The verified token of the caller; null when it sent a key. */
  readonly callerToken: Secret | null;
  /** Credentials of the caller, which never reach the server. */
  readonly credentials: readonly string[];
  /** Tokens of the user for the server; null when it needs none. */
  readonly authorization: UserAuthorization | null;
}

/** The caller and the server, to which the rounds of a call are bound. */
export function partiesOf({ key, server }: Pick<McpExchange, 'key' | 'server'>): RoundParties {
  return { principal: `${key.kind} ${key.id} ${key.personId ?? ''}`, serverId: server.id };
}

/** The messages of a request as they are sent to the server. */
export interface SentMessages {
  readonly body: Buffer;
  readonly era: McpEra;
  readonly isBatch: boolean;
  readonly calls: readonly PlaneCall[];
}

/** The one message, as guardrails have left it. */
export async function readSentMessage({ body }: SentMessages): Promise<RpcObject> {
  const isLong = body.length >= longLengthMin;
  return (await run(readExactJson(body.toString('utf8')), isLong)) as RpcObject;
}
