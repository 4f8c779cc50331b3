/** Shows one usage-limit policy with the usage of each of its counters, which can be reset. */
import { useState } from 'preact/hooks';
import { addressOf, type BodyOf, change, type RowOf } from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { type ReplyState, useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { Changes } from '../../parts/changes.tsx';
import { DeclaredNote } from '../../parts/declared.tsx';
import { ActionDialog } from '../../parts/dialog.tsx';
import { ChoiceField, Filters, SearchField } from '../../parts/fields.tsx';
import { budgetText, formatAmount, formatBare } from '../../parts/limits.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { openPage } from '../../parts/query-fields.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, NamedState, Share } from '../../parts/text.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';
import type { PageParts } from '../pages.ts';
import { conditionTexts, groupText, titleOf } from './policy-texts.ts';

type Policy = BodyOf<'/v1/policies/usage-limits/{id}'>;
type Entities = BodyOf<'/v1/policies/usage-limits/{id}/entities'>;
type Entity = RowOf<'/v1/policies/usage-limits/{id}/entities'>;

const pageSize = 50;
const refreshMs = 15_000;

export default function UsagePolicy({ parts: { id = '' } }: { readonly parts: PageParts }) {
  const policy = useReply('/v1/policies/usage-limits/{id}', { parts: { id } });
  return (
    <Page
      title={policy.body === null ? 'Usage limit' : titleOf(policy.body)}
      about={policy.body?.description}
    >
      <p>
        <a href="#/limits">All limits</a>
      </p>
      <Show loaded={policy}>
        {(policy) => (
          <>
            <DeclaredNote kind="UsageLimitPolicy" of={policy} scope="policies.update" />
            <PolicyFacts of={policy} />
            <Counters of={policy} />
            <Changes id={id} kind="policy" />
          </>
        )}
      </Show>
    </Page>
  );
}

interface PartProps {
  readonly of: Policy;
}

function PolicyFacts({ of: policy }: PartProps) {
  const { type, alert_threshold: threshold, on_outage_allowance: outage } = policy;
  const conditions = conditionTexts(policy).map((text) => <div key={text}>{text}</div>);
  return (
    <Section title="Policy">
      <Facts
        facts={[
          ['State', <NamedState key="state" name={policy.status} />],
          ['Budget of each counter', budgetText(policy)],
          ['Applies to', conditions],
          ['Counter for each', groupText(policy)],
          ['Alert at', threshold === null ? 'never' : formatAmount(type, threshold)],
          ['Next reset', <Ago key="next" at={policy.next_usage_reset_at} />],
          ['Last reset', <Ago key="last" at={policy.last_reset_at} />],
          [
            'In an outage of the database',
            outage == null ? 'refused' : `${formatAmount(type, outage)} for each gateway`,
          ],
          ['Workspace', nameOfWorkspace(policy.workspace_id)],
          ['Id', <code key="id">{policy.id}</code>],
        ]}
      />
    </Section>
  );
}

function Counters({ of: policy }: PartProps) {
  const address = queryOf();
  const page = Number(address.get('page') ?? 0);
  const search = address.get('search') ?? '';
  const status = address.get('status') ?? '';
  const entities = useReply('/v1/policies/usage-limits/{id}/entities', {
    parts: { id: policy.id },
    query: { page_size: pageSize, current_page: page, search, status },
    everyMs: refreshMs,
  });
  return (
    <Section title="Usage of the current window">
      <Filters>
        <SearchField
          label="Value"
          hint="part of the value"
          value={search}
          onValue={(value) => changeQuery({ search: value, page: '' })}
        />
        <ChoiceField
          label="State"
          value={status}
          onValue={(value) => changeQuery({ status: value, page: '' })}
          choices={[
            ['', 'All'],
            ['active', 'active'],
            ['exhausted', 'exhausted'],
          ]}
        />
      </Filters>
      <Show loaded={entities}>
        {(body) => <CounterTable policy={policy} entities={entities} body={body} page={page} />}
      </Show>
    </Section>
  );
}

interface TableProps {
  readonly policy: Policy;
  readonly entities: ReplyState<Entities>;
  readonly body: Entities;
  readonly page: number;
}

function CounterTable({ policy, entities, body: { data, total }, page }: TableProps) {
  const [chosen, setChosen] = useState<Entity | null>(null);
  const { type, credit_limit: limit } = policy;
  const format = (value: number): string => formatBare(type, value);
  const columns: Column<Entity>[] = [
    { name: 'Value', cell: ({ value_key: value }) => nameOfCounter(value) },
    {
      name: 'Used',
      cell: ({ current_usage: used }) => <Share used={used} of={limit} format={format} />,
    },
    {
      name: 'Left',
      isNumber: true,
      cell: ({ current_usage: used }) => formatAmount(type, Math.max(0, limit - used)),
    },
  ];
  if (mayDo('policies.update')) {
    columns.push({
      name: 'Action',
      cell: (entity) => (
        <button
          type="button"
          aria-label={`Reset ${nameOfCounter(entity.value_key)}`}
          onClick={() => setChosen(entity)}
        >
          Reset…
        </button>
      ),
    });
  }
  return (
    <>
      <Table
        caption="Usage by value"
        columns={columns}
        rows={data}
        keyOf={({ id }) => id}
        empty="No request has counted in this window."
      />
      <NumberedPages page={page} pageSize={pageSize} total={total} onPage={openPage} />
      {chosen !== null && (
        <ResetCounter
          policy={policy}
          entity={chosen}
          onClose={() => setChosen(null)}
          onDone={entities.reload}
        />
      )}
    </>
  );
}

/** A value key ends in a colon where requests lack the property. */
const nameOfCounter = (value: string): string =>
  value.endsWith(':') ? `${value} (requests without it)` : value;

interface ResetProps {
  readonly policy: Policy;
  readonly entity: Entity;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function ResetCounter({ policy, entity, onClose, onDone }: ResetProps) {
  const act = async (): Promise<void> => {
    const path = '/v1/policies/usage-limits/{id}/entities/{entityId}/reset';
    await change('PUT', addressOf(path, {}, { id: policy.id, entityId: entity.id }));
    onDone();
  };
  return (
    <ActionDialog
      title={`Reset ${nameOfCounter(entity.value_key)}`}
      verb="Reset"
      onClose={onClose}
      act={act}
    >
      <p>
        The usage of this counter becomes zero: {formatAmount(policy.type, policy.credit_limit)} can
        be used again until the window ends. Other counters and the logs stay.
      </p>
    </ActionDialog>
  );
}
