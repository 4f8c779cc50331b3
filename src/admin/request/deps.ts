/** Defines the dependencies and the request type of all Admin API handlers. */
import type { FailureThrottle } from '../../auth/failure-throttle.ts';
import type { IdentityProvider } from '../../auth/identity-provider.ts';
import type { Keyring } from '../../auth/keyring.ts';
import type { Principal } from '../../auth/principal.ts';
import type { RefusedCredentials } from '../../auth/refused-credentials.ts';
import type { CredentialKind, LeaseHeader, Mount, RouteRequest } from '../../http/routes/route.ts';
import type { TargetLimits } from '../../model/configs/config-document.ts';
import type { GuardrailActions, GuardrailCheck } from '../../model/guardrails/guardrail.ts';
import type {
  GuardrailTrialRequest,
  GuardrailTrialResult,
} from '../../model/guardrails/guardrail-trial.ts';
import type { McpDiscovery } from '../../model/mcp/mcp-discovery.ts';
import type { UserSessionSettings } from '../../settings/groups/sessions.ts';
import type { SignInSettings } from '../../settings/groups/sign-in.ts';
import type { Feature } from '../../settings.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import type { AuditTrail } from '../../store/logs/audit-log.ts';
import type { ConnectionFilter } from '../../store/mcp/mcp-connections.ts';
import type { StoredMcpIntegration } from '../../store/mcp/mcp-integrations.ts';
import type { StoredBlobs } from '../../store/stored-blobs.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';

/** Sign-in through the identity provider. */
export interface SignIn {
  readonly provider: IdentityProvider;
  readonly settings: SignInSettings;
  /** Called with the reason when a sign-in fails. */
  readonly onFailure: (error: Error) => void;
}

export interface AdminDeps {
  /** No `db`: reads outside a transaction may use the reader while the writer is down. */
  readonly database: Pick<Database, 'readable' | 'transaction'>;
  /** Hashes API keys, seals values at rest, fingerprints secrets for drift detection. */
  readonly keyring: Keyring;
  /** Alphanumeric prefix of new API keys (API_KEY_PREFIX), '' when unset. */
  readonly apiKeyPrefix: string;
  readonly audit: AuditTrail;
  /** Counts refused credentials on routes that authenticate by themselves. */
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  /** Stores the files of exports. */
  readonly blobs: Pick<StoredBlobs, 'read' | 'markDeleted' | 'erase'>;
  /** Limits attempts to prove wrong key values. */
  readonly throttle: FailureThrottle;
  /** Private addresses that guardrails, configs and MCP integrations may name (TRUSTED_CUSTOM_HOSTS). */
  readonly trustedHosts: TrustedHosts;
  /** Limits on the targets of a config; null means the built-in limit. */
  readonly configTargets: TargetLimits;
  readonly disabledFeatures: ReadonlySet<Feature>;
  /** Judges texts by guardrails, without services and without a log. */
  readonly guardrailTrials: {
    /** Null when too many run. */
    run(
      guardrail: TriedGuardrail,
      tried: GuardrailTrialRequest,
    ): Promise<GuardrailTrialResult | null>;
  };
  readonly mcp: McpExplorer;
  /** Revokes tokens of users at authorization servers. */
  readonly mcpTokens: {
    /** Notes the connections that the transaction is about to delete. */
    noteDeletion(tx: Db, which: ConnectionFilter): Promise<void>;
  };
  /** Address of inference without a slash at its end and without `/v1`; null when it is unknown. */
  readonly inferenceUrl: string | null;
  /** Address of the MCP gateway without a slash at its end; null when it is unknown. */
  readonly mcpUrl: string | null;
  /** Sends requests to addresses that administrators have configured. */
  readonly outbound: {
    /**
     * @throws Error with the reason when there is no complete response; it contains nothing of the request
     */
    request(request: OutboundRequest): Promise<{ readonly status: number }>;
  };
  /** Null when there is no identity provider. */
  readonly signIn: SignIn | null;
  /** Null when nothing opens a session: neither an identity provider nor the console. */
  readonly sessions: UserSessionSettings | null;
  /** Whether this server serves the console, where links for signing in lead. */
  readonly servesConsole: boolean;
  /** Path of the documentation on this server, which ends with a slash; null when it serves none. */
  readonly docsPath: string | null;
}

/** A short request; `timeoutMs` covers all of it. */
interface OutboundRequest {
  readonly url: string;
  readonly method: 'GET';
  readonly headers: Record<string, string>;
  readonly body: null;
  readonly timeoutMs: number;
}

/** A guardrail as it is stored; secrets of its checks are sealed. */
interface TriedGuardrail {
  readonly id: string;
  readonly savedId: string | null;
  readonly checks: readonly GuardrailCheck[];
  readonly actions: GuardrailActions;
}

/** Queries the servers of MCP integrations. */
interface McpExplorer {
  /** @throws McpUnreachable when the server cannot be reached */
  explore(query: {
    readonly integration: StoredMcpIntegration;
    /** Workspace on whose behalf the server is queried; null for the organisation. */
    readonly workspaceId: string | null;
    /** The caller's token for the server; null for none. */
    readonly accessToken: string | null;
    /** Whether to list the capabilities too. */
    readonly wantsLists: boolean;
  }): Promise<McpDiscovery & { readonly status: number | null }>;
}

export type AdminRequest<
  Params = Record<string, string>,
  Query = unknown,
  Body = unknown,
> = RouteRequest<Principal, Params, Query, Body>;

/**
 * Credentials on each mount of a resource served on all three mounts (docs/reference/api.md, Mounts).
 * API keys are accepted on v1 only, because a gateway key is refused on the admin mounts.
 */
export const everyMount = {
  v1: ['access-token', 'api-key', 'session'],
  v2: ['access-token', 'session'],
  admin: ['access-token', 'session'],
} as const satisfies Partial<Record<Mount, readonly CredentialKind[]>>;

/** For routes whose changes are recorded and may be made on behalf of an owner: see change.ts. */
export const forOwners = {
  leaseHeaders: ['gatewright-owner', 'gatewright-fence'],
} as const satisfies { readonly leaseHeaders: readonly LeaseHeader[] };
