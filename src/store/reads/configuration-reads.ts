/** Defines the configuration that gateways read, which the database and the sealed snapshot both provide. */
import type { DataKeyRow } from '../resources/data-keys.ts';
import type { StoredUsageBudget } from '../usage/usage-budgets.ts';
import type {
  ApiKeyHolder,
  GatewayConfigRow,
  GatewayGuardrailRow,
  GatewayKeyRow,
  GatewayPolicies,
  GatewayWorkspaceRow,
  ReadPrompt,
  ReadProviders,
  ReadSlugs,
  TokenWorkspaceRow,
} from './gateway-reads.ts';
import type { McpServerReading } from './mcp-reads.ts';

/** Each result has the generation of its organisation, which is never newer than the rows. */
export interface ConfigurationReads {
  /**
   * The key with a value, in any organisation; undefined when no current key has the value.
   *
   * @param madeAtMs when the value was made
   */
  findHolder(hash: Buffer, now: number, madeAtMs: number): Promise<ApiKeyHolder | undefined>;
  /** A key with its workspace. */
  findKey(organisationId: string, id: string): Promise<GatewayKeyRow | undefined>;
  /** `organisation` is an id or a TSG id, `workspace` an id or slug. */
  findTokenWorkspace(
    organisation: string,
    workspace: string,
  ): Promise<TokenWorkspaceRow | undefined>;
  /** An active workspace by its id or slug. */
  findWorkspace(
    organisationId: string,
    reference: string,
  ): Promise<GatewayWorkspaceRow | undefined>;
  /** A config by its id or slug. */
  findConfig(organisationId: string, reference: string): Promise<GatewayConfigRow | undefined>;
  /** A guardrail by its id or slug. */
  findGuardrail(
    organisationId: string,
    reference: string,
  ): Promise<GatewayGuardrailRow | undefined>;
  /** Budgets of keys, workspaces and providers by their ids. */
  listBudgets(
    organisationId: string,
    subjectIds: readonly string[],
  ): Promise<readonly StoredUsageBudget[]>;
  listPolicies(organisationId: string): Promise<GatewayPolicies>;
  /** Up to two providers by id or slug, in one workspace or (null) in all. */
  listProviders(
    organisationId: string,
    workspaceId: string | null,
    reference: string,
  ): Promise<ReadProviders>;
  /** Ids and slugs of the providers of one workspace or (null) of all. */
  listSlugsOfProviders(organisationId: string, workspaceId: string | null): Promise<ReadSlugs>;
  /** A prompt with its partials. */
  findPrompt(organisationId: string, reference: string): Promise<ReadPrompt | undefined>;
  /** Undefined when there is no such server, or callers of the workspace (null: of any) may not use it. */
  findMcpServer(
    organisationId: string,
    slug: string,
    callerWorkspaceId: string | null,
  ): Promise<McpServerReading | undefined>;
  /** The wrapped key of an organisation; undefined when it has none. */
  findDataKey(organisationId: string): Promise<DataKeyRow | undefined>;
}
