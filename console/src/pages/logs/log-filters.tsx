/** Narrows the log by members of the page's query. */
import { useState } from 'preact/hooks';
import type { Query } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { Filters } from '../../parts/fields.tsx';
import { KeyField } from '../../parts/key-field.tsx';
import { QueryChoice, QueryText } from '../../parts/query-fields.tsx';
import { TimeRangeFields } from '../../parts/time-range.tsx';
import { queryOf } from '../../routing/routes.ts';

/** Parameters of the API by their names in the page's query. */
const parameters = {
  key: 'api_key_id',
  config: 'config_id',
  provider: 'provider',
  model: 'model',
  type: 'type',
  status: 'status',
  verdict: 'guardrail_verdict',
  guardrail: 'guardrail',
  trace: 'trace_id',
  server: 'mcp_server',
  tool: 'mcp_name',
} as const;
const rareNames = ['config', 'guardrail', 'trace', 'server', 'tool'];

/** The filters of the page's query, as parameters of the API. */
export function filterOfPage(): Query {
  const query = queryOf();
  const members = Object.entries(parameters).map(([name, parameter]) => [
    parameter,
    query.get(name) ?? undefined,
  ]);
  return Object.fromEntries(members);
}

const types = [
  ['', 'All'],
  ['llm', 'Models'],
  ['mcp', 'MCP servers'],
] as const;
const statuses = [
  ['', 'All'],
  ['2xx', '2xx: succeeded'],
  ['4xx', '4xx: refused'],
  ['401', '401: not signed in'],
  ['403', '403: not permitted'],
  ['429', '429: limited'],
  ['446', '446: denied by a guardrail'],
  ['5xx', '5xx: failed'],
] as const;
const verdicts = [
  ['', 'All'],
  ['passed', 'Passed'],
  ['monitored', 'Failed, only observed'],
  ['failed', 'Failed, but let through'],
  ['denied', 'Denied'],
] as const;

export function LogFilters({ keyName }: { readonly keyName: string | undefined }) {
  const query = queryOf();
  return (
    <Filters>
      <TimeRangeFields usual="24h" />
      <KeyField value={query.get('key') ?? ''} chosenName={keyName} />
      <QueryText label="Provider" name="provider" hint="@slug" />
      <QueryText label="Model" name="model" />
      <QueryChoice label="Type" name="type" choices={types} />
      <QueryChoice label="Status" name="status" choices={statuses} />
      <QueryChoice label="Guardrails" name="verdict" choices={verdicts} />
      <RareFilters isOpen={rareNames.some((name) => query.has(name))} />
    </Filters>
  );
}

function RareFilters({ isOpen }: { readonly isOpen: boolean }) {
  const [isExpanded, show] = useState(isOpen);
  return (
    <details
      class="more"
      open={isExpanded || isOpen}
      onToggle={({ currentTarget }) => show(currentTarget.open)}
    >
      <summary>More filters</summary>
      <div class="filters">
        {isExpanded && <ConfigChoice />}
        {isExpanded && <GuardrailChoice />}
        <QueryText label="Trace" name="trace" />
        <QueryText label="MCP server" name="server" hint="slug" />
        <QueryText label="Tool, prompt or resource" name="tool" />
      </div>
    </details>
  );
}

const choicesMax = 50;

/** Says so where the choice is not among all. */
const labelOf = (name: string, total = 0): string =>
  total > choicesMax ? `${name} (of the newest ${choicesMax})` : name;

/** Offers the newest configs; the address may name another by its id. */
function ConfigChoice() {
  const { body } = useReply('/v1/configs', { query: { page_size: choicesMax } });
  const configs = (body?.data ?? []).map(({ id, name }) => [id, name] as const);
  const label = labelOf('Config', body?.total);
  return <QueryChoice label={label} name="config" choices={[['', 'All'], ...configs]} />;
}

/** Offers the newest guardrails; with one of them, the verdict is its own. */
function GuardrailChoice() {
  const { body } = useReply('/v1/guardrails', { query: { page_size: choicesMax } });
  const guardrails = (body?.data ?? []).map(({ id, name }) => [id, name] as const);
  const choices = [['', 'All'], ...guardrails] as const;
  const label = labelOf('Guardrail', body?.total);
  return <QueryChoice label={label} name="guardrail" choices={choices} />;
}
