/** Lists the pages: their addresses, names and places in the navigation. Each loads when it is opened. */
import type { ComponentType } from 'preact';

/** Parameters of the page's address. */
export type PageParts = Readonly<Record<string, string>>;
export type PageComponent = ComponentType<{ readonly parts: PageParts }>;

export interface PageEntry {
  /** `/keys/:id` */
  readonly pattern: string;
  /** Name in the navigation; absent for pages that others lead to. */
  readonly name?: string;
  /** Heading in the navigation. */
  readonly group?: 'Watch' | 'Resources' | 'Organisation';
  /** Page of the documentation; absent for pages that others lead to, which have the one of their list. */
  readonly docs?: string;
  readonly load: () => Promise<{ readonly default: PageComponent }>;
}

export const pages: readonly PageEntry[] = [
  {
    pattern: '/',
    name: 'Overview',
    group: 'Watch',
    docs: 'guides/console/',
    load: () => import('./overview/overview.tsx'),
  },
  {
    pattern: '/sync',
    name: 'Sync',
    group: 'Watch',
    docs: 'explanation/sync/',
    load: () => import('./sync/sync.tsx'),
  },
  { pattern: '/sync/:owner/:number', load: () => import('./sync/revision.tsx') },
  {
    pattern: '/logs',
    name: 'Logs',
    group: 'Watch',
    docs: 'reference/analytics/#logs-and-analytics',
    load: () => import('./logs/logs.tsx'),
  },
  { pattern: '/logs/:id', load: () => import('./logs/log.tsx') },
  {
    pattern: '/usage',
    name: 'Usage',
    group: 'Watch',
    docs: 'reference/analytics/#graphs-and-groups',
    load: () => import('./usage/usage.tsx'),
  },
  {
    pattern: '/keys',
    name: 'Keys',
    group: 'Resources',
    docs: 'reference/resources/#api-keys',
    load: () => import('./keys/keys.tsx'),
  },
  { pattern: '/keys/:id', load: () => import('./keys/key.tsx') },
  {
    pattern: '/limits',
    name: 'Limits',
    group: 'Resources',
    docs: 'explanation/limits/',
    load: () => import('./limits/limits.tsx'),
  },
  { pattern: '/limits/:id', load: () => import('./limits/usage-policy.tsx') },
  {
    pattern: '/configs',
    name: 'Configs',
    group: 'Resources',
    docs: 'reference/resources/#configs',
    load: () => import('./configs/configs.tsx'),
  },
  { pattern: '/configs/:id', load: () => import('./configs/config.tsx') },
  {
    pattern: '/guardrails',
    name: 'Guardrails',
    group: 'Resources',
    docs: 'guides/guardrails/',
    load: () => import('./guardrails/guardrails.tsx'),
  },
  { pattern: '/guardrails/:id', load: () => import('./guardrails/guardrail.tsx') },
  {
    pattern: '/providers',
    name: 'Providers',
    group: 'Resources',
    docs: 'reference/providers/',
    load: () => import('./providers/providers.tsx'),
  },
  { pattern: '/providers/:id', load: () => import('./providers/provider.tsx') },
  {
    pattern: '/mcp-servers',
    name: 'MCP servers',
    group: 'Resources',
    docs: 'guides/mcp-servers/',
    load: () => import('./mcp/mcp-servers.tsx'),
  },
  { pattern: '/mcp-servers/:id', load: () => import('./mcp/mcp-server.tsx') },
  {
    pattern: '/workspaces',
    name: 'Workspaces',
    group: 'Organisation',
    docs: 'reference/resources/#workspaces',
    load: () => import('./workspaces/workspaces.tsx'),
  },
  { pattern: '/workspaces/:id', load: () => import('./workspaces/workspace.tsx') },
  {
    pattern: '/people',
    name: 'People',
    group: 'Organisation',
    docs: 'reference/access/#people',
    load: () => import('./people/people.tsx'),
  },
  { pattern: '/people/:id', load: () => import('./people/user.tsx') },
  {
    pattern: '/audit',
    name: 'Audit',
    group: 'Organisation',
    docs: 'reference/access/#audit',
    load: () => import('./audit/audit.tsx'),
  },
  {
    pattern: '/setup',
    name: 'Client setup',
    group: 'Organisation',
    docs: 'guides/coding-agents/',
    load: () => import('./setup/setup.tsx'),
  },
];
