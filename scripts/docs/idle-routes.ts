/** Creates the routes of the Admin API without a running server, for documents and tests that describe all of them. */
import { adminRoutes, publicRoutes } from '../../src/admin/index.ts';
import type { AdminDeps } from '../../src/admin/request/deps.ts';
import { createAccessTokens } from '../../src/auth/access-token.ts';
import { createFailureThrottle } from '../../src/auth/failure-throttle.ts';
import { createSealer, deriveKeys, type Keyring } from '../../src/auth/keyring.ts';
import type { Principal } from '../../src/auth/principal.ts';
import { sealingKey } from '../../src/auth/sealing.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { openDatabase } from '../../src/store/connection/db.ts';
import { auditTrail } from '../../src/store/logs/audit-log.ts';
import { StoredBlobs } from '../../src/store/stored-blobs.ts';

interface IdleRoutes {
  /** Routes that require a credential. */
  readonly guarded: Route<Principal>[];
  /** Routes of the API that require none. */
  readonly open: Route<null>[];
}

/** Returns routes whose handlers must not be called: the database of their dependencies does not exist. */
export function createIdleRoutes(): IdleRoutes {
  const sealerOf = async (id: string) => createSealer(sealingKey(Buffer.alloc(32), 'seal'), id);
  const keyring: Keyring = {
    ...deriveKeys(Buffer.alloc(32)),
    open: async () => undefined,
    sealerOf,
    openFrom: () => undefined,
    unsealerOf: sealerOf,
  };
  const deps = { ...createIdleDeps(), keyring };
  return {
    guarded: adminRoutes(deps, createAccessTokens(keyring)),
    open: publicRoutes(deps, () => undefined),
  };
}

function createIdleDeps(): Omit<AdminDeps, 'keyring'> {
  const database = openDatabase({
    host: '127.0.0.1',
    port: 1,
    socketPath: null,
    user: 'nobody',
    password: undefined,
    name: 'nothing',
    poolSize: 1,
    tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
  });
  const refuse = () => Promise.reject(new Error('the routes are idle'));
  return {
    database,
    blobs: new StoredBlobs({ database, now: () => 0, writesTo: 'database', places: {} }),
    apiKeyPrefix: '',
    audit: auditTrail(true),
    throttle: createFailureThrottle(),
    refusals: { record: () => undefined },
    signIn: null,
    sessions: null,
    servesConsole: false,
    docsPath: null,
    trustedHosts: [],
    disabledFeatures: new Set<never>(),
    configTargets: { rootMax: null, conditionalRootMax: null, nestedMax: null },
    guardrailTrials: { run: refuse },
    mcp: { explore: refuse },
    mcpTokens: { noteDeletion: refuse },
    inferenceUrl: null,
    mcpUrl: null,
    outbound: { request: refuse },
  };
}
