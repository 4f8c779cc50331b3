/** Lists the providers with their health and cost of the last day. */
import { useState } from 'preact/hooks';
import { type RowOf, workspace } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { Page, Problem, Show } from '../../parts/page.tsx';
import { NumberedPages, Table } from '../../parts/table.tsx';
import {
  Ago,
  formatDollars,
  formatDuration,
  formatShort,
  NamedState,
  Short,
} from '../../parts/text.tsx';
import { useTimeRange } from '../../parts/time-range.tsx';
import { figuresOf, type Groups } from './figures.ts';
import { errorsText, Health } from './health.tsx';

const pageSize = 50;
/** A provider has up to two spellings in the log. */
const groupsMax = 2 * pageSize;

type Provider = RowOf<'/v1/providers'>;

export default function Providers() {
  const [page, setPage] = useState(0);
  const range = useTimeRange('24h');
  const providers = useReply('/v1/providers', {
    query: { page_size: pageSize, current_page: page },
  });
  const slugs = [...new Set(providers.body?.data.map(({ slug }) => slug))].sort();
  const groups = useReply('/v1/analytics/groups/{group}', {
    query: { ...range, page_size: groupsMax, virtual_keys: slugs.join(',') },
    parts: { group: 'provider' },
    everyMs: 30_000,
    isOn: slugs.length > 0,
  });
  const nameOf = usePlaceNames();
  return (
    <Page
      title="Providers"
      about="Where models are called. Figures are of the last 24 hours, in whole hours; errors leave out what guardrails denied."
    >
      {groups.error !== null && <Problem error={groups.error} onRetry={groups.reload} />}
      <Show loaded={providers}>
        {({ data, total }) => (
          <>
            <SharedSlugs providers={data} />
            <ProviderTable
              providers={data}
              groups={(groups.body as Groups | null)?.data ?? null}
              nameOf={nameOf}
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Page>
  );
}

/** Names of workspaces while all are shown, else of integrations; ids where the newest page lacks them. */
function usePlaceNames(): (id: string) => string {
  const showsAll = workspace.value === '';
  const query = { page_size: pageSize };
  const { body } = useReply('/v1/integrations', { query, isOn: !showsAll });
  if (showsAll) return nameOfWorkspace;
  const names = new Map((body?.data ?? []).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

/** The log names providers by slug, and workspaces may use the same ones. */
function SharedSlugs({ providers }: { readonly providers: readonly Provider[] }) {
  const slugs = new Set(providers.map(({ slug }) => slug));
  if (workspace.value !== '' || slugs.size === providers.length) return null;
  return (
    <p>
      Providers of one slug in several workspaces show the sum of their figures here. Choose a
      workspace to see its own.
    </p>
  );
}

interface ProviderTableProps {
  readonly providers: readonly Provider[];
  /** Null until they are loaded. */
  readonly groups: Groups['data'] | null;
  /** Name of a workspace or an integration. */
  readonly nameOf: (id: string) => string;
}

function ProviderTable({ providers, groups, nameOf }: ProviderTableProps) {
  const isKnown = groups !== null;
  const rows = providers.map((provider) => ({
    provider,
    figures: figuresOf(provider.slug, groups ?? []),
  }));
  return (
    <div class="tight">
      <Table
        caption="Providers with their figures of the last 24 hours"
        rows={rows}
        keyOf={({ provider }) => provider.id}
        empty="There is no provider in this workspace."
        columns={[
          {
            name: 'Name',
            cell: ({ provider: { id, name } }) => <a href={`#/providers/${id}`}>{name}</a>,
          },
          { name: 'Slug', cell: ({ provider }) => <Short text={`@${provider.slug}`} /> },
          workspace.value === ''
            ? { name: 'Workspace', cell: ({ provider }) => nameOf(provider.workspace_id) }
            : { name: 'Integration', cell: ({ provider }) => nameOf(provider.integration_id) },
          { name: 'Service', cell: ({ provider }) => provider.ai_provider_name },
          { name: 'State', cell: ({ provider }) => <NamedState name={provider.status} /> },
          { name: 'Health', cell: ({ figures }) => isKnown && <Health figures={figures} /> },
          {
            name: 'Requests',
            isNumber: true,
            cell: ({ figures }) => isKnown && formatShort(figures.requests),
          },
          { name: 'Errors', isNumber: true, cell: ({ figures }) => isKnown && errorsText(figures) },
          {
            name: 'Latency p99',
            isNumber: true,
            cell: ({ figures }) => formatDuration(figures.latencyMsP99),
          },
          {
            name: 'Cost',
            isNumber: true,
            cell: ({ figures }) => isKnown && formatDollars(figures.cost),
          },
          { name: 'Last seen', cell: ({ figures }) => <Ago at={figures.lastSeen} /> },
        ]}
      />
    </div>
  );
}
