/** Names the properties by which usage is grouped, and where each leads. */
import { queryOf } from '../../routing/routes.ts';

interface Dimension {
  readonly name: string;
  readonly text: string;
  /** Member of a row with the value; the groups of the API differ in its name. */
  readonly field: string;
  /** Members of the log page's query that show the requests of a value. */
  readonly logsOf?: (value: string) => Readonly<Record<string, string>>;
  /** Address of the page of a value. */
  readonly pageOf?: (value: string) => string;
}

export const dimensions: readonly Dimension[] = [
  {
    name: 'api_key',
    text: 'Key',
    field: 'api_key',
    logsOf: (key) => ({ key }),
    pageOf: (id) => `#/keys/${id}`,
  },
  { name: 'model', text: 'Model', field: 'model', logsOf: (model) => ({ model }) },
  {
    name: 'provider',
    text: 'Provider',
    field: 'provider',
    logsOf: (provider) => ({ provider }),
  },
  { name: 'workspace', text: 'Workspace', field: 'workspace_id' },
  { name: 'users', text: 'User (_user of the metadata)', field: 'user' },
  {
    name: 'config',
    text: 'Config',
    field: 'config',
    logsOf: (config) => ({ config }),
    pageOf: (id) => `#/configs/${id}`,
  },
  { name: 'prompt', text: 'Prompt', field: 'prompt' },
  {
    name: 'guardrail',
    text: 'Guardrail',
    field: 'guardrail',
    pageOf: (id) => `#/guardrails/${id}`,
  },
  {
    name: 'mcp_server',
    text: 'MCP server',
    field: 'mcp_server',
    logsOf: (server) => ({ server }),
    pageOf: (slug) => `#/mcp-servers/${slug}`,
  },
  { name: 'mcp_tool', text: 'MCP tool', field: 'mcp_tool', logsOf: ofTool },
  {
    name: 'status_code',
    text: 'Status',
    field: 'status_code',
    logsOf: (status) => ({ status }),
  },
  { name: 'metadata', text: 'Metadata value', field: 'metadata_value' },
];

/** A tool is named `server/tool`; slugs of servers have no slash. */
function ofTool(value: string): Record<string, string> {
  const at = value.indexOf('/');
  return { server: value.slice(0, at), tool: value.slice(at + 1) };
}

export function dimensionOf(name: string): Dimension {
  return dimensions.find((one) => one.name === name) ?? dimensions[0]!;
}

/** Address of the log with the requests of a value, in the same time range and with the same filters. */
export function logsAddress(
  dimension: Dimension,
  value: string,
  usualRange: string,
): string | null {
  if (dimension.logsOf === undefined) return null;
  const page = queryOf();
  const query = new URLSearchParams({ range: page.get('range') ?? usualRange });
  for (const name of ['from', 'to', 'key', 'provider', 'model']) {
    const own = page.get(name);
    if (own !== null) query.set(name, own);
  }
  for (const [name, member] of Object.entries(dimension.logsOf(value))) query.set(name, member);
  return `#/logs?${query}`;
}
