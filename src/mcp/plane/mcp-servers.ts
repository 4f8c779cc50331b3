/** Finds the MCP server of a request, cached while nothing of its organisation has changed. */
import type { Keyring } from '../../auth/keyring.ts';
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import type { SnapshotCache, SnapshotEntry } from '../../gateway/callers/snapshot-cache.ts';
import type { CheckTools } from '../../guardrails/guardrail.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import { buildPlaneServer, type PlaneServer } from './plane-server.ts';

export interface McpServersOptions {
  readonly reads: Pick<ConfigurationReads, 'findMcpServer'>;
  readonly unsealerOf: Keyring['unsealerOf'];
  readonly cache: SnapshotCache<PlaneServer>;
  readonly trusted: TrustedHosts;
  readonly tools: CheckTools;
  readonly runsGuardrails: boolean;
  /** Host and port of the mock upstream; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
}

export class McpServers {
  readonly #options: McpServersOptions;

  constructor(options: McpServersOptions) {
    this.#options = options;
  }

  /**
   * A key of a workspace finds the servers of its workspace, a key of the organisation all servers. Servers are
   * cached for the workspace of the caller, and refusals are not cached: a foreign server costs what an unknown
   * one does.
   *
   * @throws PlaneFault one error for an unknown, archived or foreign server
   */
  find(
    key: Pick<GatewayKey, 'organisationId' | 'workspace'>,
    slug: string,
  ): PlaneServer | Promise<PlaneServer> {
    const { organisationId, workspace } = key;
    const { cache } = this.#options;
    const workspaceId = workspace === null ? null : workspace.id;
    const cacheKey = `${organisationId} ${workspaceId ?? ''} ${slug}`;
    const load = () => this.#load(organisationId, slug, workspaceId);
    const cached = cache.peek(cacheKey);
    if (cached !== undefined) return requireReachable(cached, workspaceId);
    return cache.get(cacheKey, load).then((read) => requireReachable(read, workspaceId));
  }

  async #load(
    organisationId: string,
    slug: string,
    workspaceId: string | null,
  ): Promise<SnapshotEntry<PlaneServer> | undefined> {
    const { reads, unsealerOf, trusted, tools, runsGuardrails } = this.#options;
    const { mockUpstreamHost } = this.#options;
    const reading = await reads.findMcpServer(organisationId, slug, workspaceId);
    if (reading === undefined) return undefined;
    const unsealer = await unsealerOf(organisationId);
    const found = { reading, references: reading.references, unsealer };
    const parts = { ...found, trusted, tools, runsGuardrails, mockUpstreamHost };
    const value = buildPlaneServer(parts);
    return value === null ? undefined : { organisationId, generation: reading.generation, value };
  }
}

function requireReachable(
  server: PlaneServer | undefined,
  workspaceId: string | null,
): PlaneServer {
  if (server !== undefined && (workspaceId ?? server.workspaceId) === server.workspaceId) {
    return server;
  }
  throw new PlaneFault(
    'server_not_found',
    'No MCP server that this credential may use has the slug of this address, /{slug}/mcp',
  );
}
