/** Knows what every Admin API handler is given. */
import type { FailureThrottle } from '../../auth/failure-throttle.ts';
import type { IdentityProvider } from '../../auth/identity-provider.ts';
import type { Keyring } from '../../auth/keyring.ts';
import type { Principal } from '../../auth/principal.ts';
import type { RefusedCredentials } from '../../auth/refused-credentials.ts';
import type { CredentialKind, LeaseHeader, Mount, RouteRequest } from '../../http/route.ts';
import type { TargetLimits } from '../../model/config-document.ts';
import type { McpFound } from '../../model/mcp-found.ts';
import type { SignInSettings } from '../../settings/sign-in.ts';
import type { Feature } from '../../settings.ts';
import type { Database } from '../../store/connection/db.ts';
import type { KeptBlobs } from '../../store/kept-blobs.ts';
import type { AuditTrail } from '../../store/tables/audit-log.ts';
import type { StoredMcpIntegration } from '../../store/tables/mcp-integrations.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';

/** By what people sign in. */
export interface SignIn {
  readonly provider: IdentityProvider;
  readonly settings: SignInSettings;
  /** Is told why somebody could not. */
  readonly onFailure: (error: Error) => void;
}

export interface AdminDeps {
  /** No `db`: what is read outside of a transaction may come from the reader while the writer is down. */
  readonly database: Pick<Database, 'readable' | 'transaction'>;
  /** Hashes API keys, seals values at rest, fingerprints secrets for drift detection. */
  readonly keyring: Keyring;
  /** Alphanumeric prefix of new API keys (API_KEY_PREFIX), '' when unset. */
  readonly apiKeyPrefix: string;
  readonly audit: AuditTrail;
  /** Counts what is shown to routes that find out for themselves who comes. */
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  /** Where the files of exports are kept. */
  readonly blobs: Pick<KeptBlobs, 'read' | 'markDeleted' | 'erase'>;
  /** Counts who proves wrong values of keys. */
  readonly throttle: FailureThrottle;
  /** Private addresses that guardrails, configs and MCP integrations may name (TRUSTED_CUSTOM_HOSTS). */
  readonly trustedHosts: TrustedHosts;
  /** How many targets a config may have; null means the built-in limit. */
  readonly configTargets: TargetLimits;
  readonly disabledFeatures: ReadonlySet<Feature>;
  readonly mcp: McpExplorer;
  /** Asks addresses that administrators have named. */
  readonly outbound: {
    /** @throws Error that says why there is no whole answer, and nothing of what was sent */
    request(asked: OutboundRequest): Promise<{ readonly status: number }>;
  };
  /** Null where nobody signs in. */
  readonly signIn: SignIn | null;
}

/** A short request; `timeoutMs` is for all of it. */
interface OutboundRequest {
  readonly url: string;
  readonly method: 'GET';
  readonly headers: Record<string, string>;
  readonly body: null;
  readonly timeoutMs: number;
}

/** Asks servers of MCP integrations. */
interface McpExplorer {
  /** @throws McpUnreachable where it could not be asked */
  explore(asked: {
    readonly integration: StoredMcpIntegration;
    /** In whose name; null for the organisation. */
    readonly workspaceId: string | null;
    /** By which the caller is known to the server; null for none. */
    readonly accessToken: string | null;
    /** Also what it offers. */
    readonly wantsLists: boolean;
  }): Promise<McpFound & { readonly status: number | null }>;
}

/** A request as Admin handlers see it. */
export type AdminRequest<
  Params = Record<string, string>,
  Query = unknown,
  Body = unknown,
> = RouteRequest<Principal, Params, Query, Body>;

/**
 * Credentials on each mount of a resource that hangs on all three planes (docs/api.md, Mounts): keys are
 * honoured on v1 only, because a gateway key is refused on the admin planes.
 */
export const everyMount = {
  v1: ['access-token', 'api-key', 'session'],
  v2: ['access-token', 'session'],
  admin: ['access-token', 'session'],
} as const satisfies Partial<Record<Mount, readonly CredentialKind[]>>;

/**
 * As {@link everyMount}, for what clients that have nothing but a key ask for on v2. Where the same route
 * hangs on v1 with the same scope, a key reaches no more by it.
 */
export const everyMountByKeys = {
  ...everyMount,
  v2: everyMount.v1,
} as const satisfies Partial<Record<Mount, readonly CredentialKind[]>>;

/** For routes whose changes are recorded, and may be made in the name of an owner: see change.ts. */
export const forOwners = {
  leaseHeaders: ['gatewright-owner', 'gatewright-fence'],
} as const satisfies { readonly leaseHeaders: readonly LeaseHeader[] };
