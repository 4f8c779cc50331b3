/** Lists what an operator has to look at, each with its reason and a link. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { RowOf } from '../../api/client.ts';
import { session } from '../../api/session.ts';
import { useReply } from '../../api/use-reply.ts';
import { formatAmount, formatBare } from '../../parts/limits.tsx';
import { Problem, Section } from '../../parts/page.tsx';
import { CursorPages } from '../../parts/table.tsx';
import { Ago, formatCount, NamedState } from '../../parts/text.tsx';

type Matter = RowOf<'/admin/v2/gatewright/attention'>;

const pageSize = 12;
const refreshMs = 30_000;

export function Attention() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const found = useReply('/admin/v2/gatewright/attention', {
    query: { page_size: pageSize, cursor: cursors.at(-1) },
    everyMs: refreshMs,
  });
  const { body, error, reload } = found;
  const matters = body?.data ?? [];
  return (
    <Section title="Needs attention">
      {error !== null && error.status !== 403 && <Problem error={error} onRetry={reload} />}
      {body === null && error === null && <p class="quiet loading">Loading…</p>}
      {body !== null && matters.length === 0 && cursors.length === 0 && (
        <p class="quiet">Nothing: all is in order.</p>
      )}
      <ul class="matters">
        {matters.map((matter) => (
          <li key={`${matter.id} ${matter.reason}`}>
            <NamedState name={matter.sync?.state ?? states[matter.reason]} />{' '}
            <a href={addressOf(matter)}>
              {nouns[matter.kind]} {matter.name ?? matter.id}
            </a>
            {factsOf(matter)}
          </li>
        ))}
      </ul>
      <CursorPages cursors={cursors} next={body?.next_cursor ?? null} onCursors={setCursors} />
    </Section>
  );
}

const nouns: Readonly<Record<Matter['kind'], string>> = {
  SyncOwner: 'Sync',
  Job: 'Job',
  Alert: 'Alert:',
  ApiKey: 'Key',
  Workspace: 'Workspace',
  Provider: 'Provider',
  UsageLimitPolicy: 'Limit',
};

const states: Readonly<Record<Matter['reason'], string>> = {
  out_of_sync: 'OutOfSync',
  exhausted: 'exhausted',
  failing: 'failing',
  undelivered: 'undelivered',
  expiring: 'expiring',
  nearly_exhausted: 'nearly exhausted',
  expired: 'expired',
};

function addressOf({ kind, id }: Matter): string {
  if (kind === 'SyncOwner') return '#/sync';
  if (kind === 'Job') return `${session.value?.addresses.docs ?? ''}reference/jobs/#${id}`;
  if (kind === 'Alert') return '#/limits';
  if (kind === 'ApiKey') return `#/keys/${id}`;
  if (kind === 'Workspace') return `#/workspaces/${id}`;
  return kind === 'Provider' ? `#/providers/${id}` : `#/limits/${id}`;
}

function factsOf({
  kind,
  budget,
  failures,
  expires_at: ends,
  sync,
  failed_at: failedAt,
}: Matter): ComponentChildren {
  if (sync !== null) {
    const { message, drift_count: drifted } = sync;
    return `: ${message ?? (drifted === 1 ? '1 field drifted' : `${formatCount(drifted)} fields drifted`)}`;
  }
  if (budget !== null) {
    const { type, used, limit, resets_at: resets } = budget;
    return (
      <>
        : {formatBare(type, used)} of {formatAmount(type, limit)} used
        {resets === null ? (
          ', no reset'
        ) : (
          <>
            , resets <Ago at={resets} />
          </>
        )}
      </>
    );
  }
  if (failures !== null) {
    const { errors, requests, since } = failures;
    return (
      <>
        : {formatCount(errors)} of {formatCount(requests)} requests failed, counted from{' '}
        <Ago at={since} />
      </>
    );
  }
  if (failedAt !== null) {
    return (
      <>
        : {kind === 'Job' ? 'the last run failed' : 'nobody was told, given up'}{' '}
        <Ago at={failedAt} />
      </>
    );
  }
  if (ends !== null) {
    return (
      <>
        , <Ago at={ends} />
      </>
    );
  }
  return kind === 'UsageLimitPolicy' ? ': at least one of its counters is used up' : null;
}
