/** Defines what all requests of the MCP gateway share, and how one arrives. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RefusedCredential } from '../../auth/refused-credentials.ts';
import type { CallerSources } from '../../gateway/callers/authenticate.ts';
import type { ReadHeader } from '../../gateway/callers/exchange.ts';
import type { RequestRecord } from '../../gateway/logs/request-record.ts';
import type { SpanExport } from '../../gateway/logs/span-export.ts';
import type { LimitSwitches, Policies } from '../../gateway/metering/limits.ts';
import type { SecretValueCache } from '../../gateway/targets/secret-value-cache.ts';
import type { BodyMemory } from '../../gateway/transfer/body-memory.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { JsonBounds } from '../../model/json/json-scan.ts';
import type { LegacyBridge } from '../bridge/legacy-bridge.ts';
import type { ModernToLegacy } from '../bridge/modern-to-legacy.ts';
import type { ServerEras } from '../bridge/server-eras.ts';
import type { ServerConnections } from '../event-transport/call-mcp-server.ts';
import type { EventSessions } from '../event-transport/event-sessions.ts';
import type { ForwardedIdentities } from '../identity/forwarded-identity.ts';
import type { DropReason } from '../messages/expected-messages.ts';
import type { KnownNames } from '../names/known-names.ts';
import type { ServerTokens } from '../oauth/server-tokens.ts';
import type { UserConnections } from '../oauth/user-connections.ts';
import type { DefinitionChecks } from '../pins/definition-checks.ts';
import type { DefinitionRecorder } from '../pins/definition-recorder.ts';
import type { ProtectedResource } from '../resource/protected-resource.ts';
import type { AnsweredStates } from '../rounds/answered-states.ts';
import type { CallStates } from '../rounds/call-states.ts';
import type { SessionIds } from '../sessions/session-ids.ts';
import type { OpenStreams } from '../streams/open-streams.ts';
import type { TracedMessage } from '../telemetry/mcp-spans.ts';
import type { McpServers } from './mcp-servers.ts';

/** A finished request of the MCP gateway, for metrics. */
export interface McpObservation {
  /** A method of MCP; `other` for any other, `stream` and `end` for GET and DELETE. */
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
  /** Time since the server was called; null when it was not. */
  readonly serverMs: number | null;
  /** The requests of the caller, of several those of a batch. */
  readonly messages: readonly TracedMessage[];
}

export interface PlaneServices extends CallerSources {
  readonly servers: McpServers;
  /** Lists definitions again before calls. */
  readonly definitionChecks: DefinitionChecks;
  readonly definitions: Pick<DefinitionRecorder, 'note'>;
  /** Names that servers have listed. */
  readonly knownNames: KnownNames;
  readonly policies: Policies;
  readonly ledger: Ledger;
  readonly serverConnections: ServerConnections;
  readonly eventSessions: Pick<EventSessions, 'ownerOf'>;
  readonly secrets: SecretValueCache;
  readonly serverTokens: ServerTokens;
  readonly identities: ForwardedIdentities;
  readonly sessions: SessionIds;
  readonly callStates: CallStates;
  /** Whether a state is answered for the first time, which is not counted again. */
  readonly answeredStates: AnsweredStates;
  readonly resource: ProtectedResource;
  readonly connections: UserConnections;
  readonly eras: ServerEras;
  readonly bridge: LegacyBridge;
  readonly modernToLegacy: ModernToLegacy;
  readonly streams: OpenStreams;
  readonly bodyMemory: BodyMemory;
  /** Responses that are read before they are sent. */
  readonly responseMemory: BodyMemory;
  readonly bodyBytesMax: number;
  /** Silence on a stream of events after which a comment is sent. */
  readonly keepAliveMs: number;
  readonly jsonBounds: JsonBounds;
  /** Prefixes of the gateway's headers in lower case: its own first, then the aliases. */
  readonly headerPrefixes: readonly string[];
  /** Further names of this gateway in `Host` and `Origin`, in lower case. */
  readonly hosts: ReadonlySet<string>;
  /** False: limits count calls but reject nothing. */
  readonly enforcesLimits: boolean;
  readonly limitsBy: LimitSwitches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly isUnavailable: (error: unknown) => boolean;
  /** Age of the configuration while the database does not respond; null while it does. */
  readonly configurationAgeSeconds: () => number | null;
  readonly record: (entry: RequestRecord) => void;
  readonly observe: (finished: McpObservation) => void;
  /** Null when tracing is off. */
  readonly spanExport: Pick<SpanExport, 'sampler' | 'addEntry'> | null;
  /** Reports a message of a server that is not sent to the caller. */
  readonly observeDropped: (reason: DropReason) => void;
  /** Reports a rejected credential and the address it came from. */
  readonly onRefused: (refused: RefusedCredential, remoteAddress: string) => void;
  /** Reports an unexpected error. */
  readonly onFault: (error: unknown, id: string) => void;
}

/** A request whose headers have arrived. */
export interface McpArrival {
  /** Trace id. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Slug of the server; null for a path that names none. */
  readonly slug: string | null;
  readonly header: ReadHeader;
  /** Monotonic clock, milliseconds. */
  readonly beganMs: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}
