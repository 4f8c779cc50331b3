/** Shows one API key: facts, scopes, defaults, limits with their use, rotation and changes. */
import { mayDo } from '../../api/session.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { Changes } from '../../parts/changes.tsx';
import { Json } from '../../parts/code.tsx';
import { DeclaredNote } from '../../parts/declared.tsx';
import { BudgetUse, budgetText, formatAmount, rateText } from '../../parts/limits.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { Ago, At, formatDuration, NamedState } from '../../parts/text.tsx';
import type { PageParts } from '../pages.ts';
import { KeyActions } from './key-actions.tsx';
import { experienceOf, type Key, rotationText, stateOf } from './key-texts.ts';

export default function KeyPage({ parts: { id = '' } }: { readonly parts: PageParts }) {
  const key = useReply('/v1/api-keys/{id}', { parts: { id } });
  const { body } = key;
  return (
    <Page
      title={body === null ? 'Key' : `Key ${body.name}`}
      about={body?.description}
      actions={
        body !== null && (
          <>
            {mayDo('logs.list') && (
              <a class="button" href={`#/logs?api_key_id=${id}`}>
                Log of this key
              </a>
            )}
            <KeyActions of={body} onChange={key.reload} />
          </>
        )
      }
    >
      <p>
        <a href="#/keys">All keys</a>
      </p>
      <Show loaded={key}>
        {(record) => (
          <>
            <DeclaredNote kind="ApiKey" of={record} />
            <State of={record} />
            <Limits of={record} />
            <Scopes scopes={record.scopes} />
            <Defaults of={record} />
            <Rotation of={record} />
            <Changes id={id} kind="key" />
          </>
        )}
      </Show>
    </Page>
  );
}

interface PartProps {
  readonly of: Key;
}

function State({ of: key }: PartProps) {
  const { last_used_at: lastUse } = key;
  const state = stateOf(key);
  return (
    <Section title="State">
      <p>
        <NamedState name={state} /> {experienceOf(state)}
      </p>
      <Facts
        facts={[
          ['Last used (to the hour)', lastUse === null ? 'never' : <Ago key="use" at={lastUse} />],
          ['Expires', key.expires_at === null ? 'never' : <At key="end" at={key.expires_at} />],
          ['Value', <code key="value">{key.key}</code>],
          ['Type', key.type.endsWith('user') ? 'key of a person' : 'key of a service'],
          ['Workspace', nameOfWorkspace(key.workspace_id)],
          ['Person', key.user_id ?? '–'],
          ['Created', <Ago key="created" at={key.created_at} />],
          ['Changed', <Ago key="changed" at={key.last_updated_at} />],
          ['Id', <code key="id">{key.id}</code>],
        ]}
      />
    </Section>
  );
}

function Limits({ of: key }: PartProps) {
  const { usage_limits: budget, rate_limits: rates, alert_emails: emails } = key;
  const threshold = budget?.alert_threshold;
  const outage = budget?.on_outage_allowance;
  return (
    <Section
      title="Limits"
      about="Limits of the workspace, the provider and of policies hold as well."
    >
      {budget !== null && mayDo('analytics.view') && (
        <BudgetUse budget={budget} times={key} filter={{ api_key_id: key.id }} />
      )}
      <Facts
        facts={[
          ['Budget', budget === null ? 'none' : budgetText(budget)],
          ['Alert at', threshold == null ? '–' : formatAmount(budget?.type, threshold)],
          ['Alerts to', emails === null ? '–' : emails.join(', ')],
          ['Next reset', <Ago key="next" at={key.next_usage_reset_at} />],
          ['Last reset', <Ago key="last" at={key.last_reset_at} />],
          [
            'In an outage of the database',
            outage == null ? 'refused' : `${formatAmount(budget?.type, outage)} for each gateway`,
          ],
          ['Rate limits', rates.length === 0 ? 'none' : rates.map(rateText).join(', ')],
        ]}
      />
    </Section>
  );
}

function Scopes({ scopes }: { readonly scopes: readonly string[] }) {
  return (
    <Section title={`Scopes (${scopes.length})`} about="The actions that the key allows.">
      <ul class="tags">
        {scopes.map((scope) => (
          <li key={scope}>
            <code>{scope}</code>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Defaults({ of: { defaults, allow_config_override: override } }: PartProps) {
  const config = defaults.config_id;
  const isAllowed = override === null ? 'by default' : override === 0 ? 'no' : 'yes';
  return (
    <Section title="Defaults" about="They apply to requests that set nothing else.">
      <Facts
        facts={[
          ['Config', config === null ? 'none' : <a href={`#/configs/${config}`}>{config}</a>],
          ['Requests may choose another config', isAllowed],
        ]}
      />
      {defaults.metadata !== null && <Json value={defaults.metadata} label="Metadata" />}
    </Section>
  );
}

function Rotation({ of: key }: PartProps) {
  const transition = key.rotation_policy?.key_transition_period_ms;
  return (
    <Section
      title="Rotation"
      about="No key rotates by itself: sync, or the program that delivers the value, rotates it when it is due."
    >
      <Facts
        facts={[
          ['Policy', rotationText(key)],
          ['Due', <Ago key="due" at={key.rotation_policy?.next_rotation_at} />],
          ['Rotated', <Ago key="rotated" at={key.rotated_at} />],
          ['Previous value works until', <Ago key="until" at={key.key_transition_expires_at} />],
          ['Previous value works for', transition == null ? '–' : formatDays(transition)],
        ]}
      />
    </Section>
  );
}

/** Whole hours as hours, else minutes and seconds. */
const formatDays = (ms: number): string =>
  ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : formatDuration(ms);
