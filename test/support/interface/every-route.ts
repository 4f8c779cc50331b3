/**
 * Lists every route of the Admin API as the server registers it, for tests and benchmarks that must
 * cover all.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { adminRoutes } from '../../../src/admin/index.ts';
import { createAccessTokens } from '../../../src/auth/access-token.ts';
import { createFailureThrottle } from '../../../src/auth/failure-throttle.ts';
import { createSealer, deriveKeys, type Keyring } from '../../../src/auth/keyring.ts';
import type { Principal } from '../../../src/auth/principal.ts';
import { sealingKey } from '../../../src/auth/sealing.ts';
import { type MountedRoute, mountRoutes } from '../../../src/http/routes/registry.ts';
import { openDatabase } from '../../../src/store/connection/db.ts';
import { auditTrail } from '../../../src/store/logs/audit-log.ts';
import { StoredBlobs } from '../../../src/store/stored-blobs.ts';

/** The route registry of the server; its dependencies are not used before a request arrives. */
export function everyRoute(): MountedRoute<Principal>[] {
  const sealerOf = async (id: string) => createSealer(sealingKey(Buffer.alloc(32), 'seal'), id);
  const keyring: Keyring = {
    ...deriveKeys(Buffer.alloc(32)),
    open: async () => undefined,
    sealerOf,
    openFrom: () => undefined,
    unsealerOf: sealerOf,
  };
  return mountRoutes(adminRoutes({ ...unused, keyring }, createAccessTokens(keyring)));
}

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

const unused = {
  database,
  blobs: new StoredBlobs({ database, now: () => 0, writesTo: 'database', places: {} }),
  apiKeyPrefix: '',
  audit: auditTrail(true),
  throttle: createFailureThrottle(),
  refusals: { record: () => undefined },
  signIn: null,
  sessions: null,
  servesConsole: false,
  trustedHosts: [],
  disabledFeatures: new Set<never>(),
  configTargets: { rootMax: null, conditionalRootMax: null, nestedMax: null },
  mcp: { explore: () => Promise.reject(new Error('nothing is asked')) },
  mcpTokens: { noteDeletion: () => Promise.reject(new Error('nothing is asked')) },
  mcpUrl: null,
  outbound: { request: () => Promise.reject(new Error('nothing is asked')) },
};

/** A path with every parameter filled: an allowed word, an example, or an unknown id. */
export function pathOf(mounted: MountedRoute<Principal>): string {
  return filledPath(mounted).path;
}

/** Like {@link pathOf}, with the value of each parameter. */
export function filledPath({ route, pattern }: MountedRoute<Principal>): {
  readonly path: string;
  readonly params: Record<string, string>;
} {
  const json =
    route.params === undefined
      ? {}
      : z.toJSONSchema(route.params, { io: 'input', unrepresentable: 'any' });
  const properties = ('properties' in json ? json.properties : {}) as Record<
    string,
    { enum?: string[]; examples?: string[] }
  >;
  const params: Record<string, string> = {};
  const path = pattern.replaceAll(/:([^/]+)/g, (_, name: string) => {
    params[name] = properties[name]?.enum?.[0] ?? properties[name]?.examples?.[0] ?? randomUUID();
    return params[name];
  });
  return { path, params };
}
