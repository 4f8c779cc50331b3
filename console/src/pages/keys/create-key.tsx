/** Creates an API key, and shows its value once. */
import { useState } from 'preact/hooks';
import { addressOf, workspace as selectedWorkspace } from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { useRepeatable } from '../../api/use-repeatable.ts';
import { workspaces } from '../../api/workspaces.ts';
import { ActionDialog, SecretDialog } from '../../parts/dialog.tsx';
import { CheckField, ChoiceField, FieldGroup, TextField } from '../../parts/fields.tsx';
import { WorkspaceField } from '../../parts/workspace-field.tsx';
import type { Key } from './key-texts.ts';
import { scopeOf } from './key-texts.ts';

interface CreateProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

interface Draft {
  readonly type: Key['type'];
  readonly workspace: string;
  readonly name: string;
  readonly userId: string;
  readonly scopes: ReadonlySet<string>;
  readonly otherScopes: string;
  readonly expiresAt: string;
  readonly budget: string;
  readonly budgetType: 'cost' | 'tokens';
  readonly budgetPeriod: '' | 'weekly' | 'monthly';
  readonly rate: string;
  readonly rateUnit: 'rps' | 'rpm' | 'rph' | 'rpd';
}

type SetDraft = (change: Partial<Draft>) => void;

const types: readonly (readonly [Key['type'], string])[] = [
  ['workspace-service', 'For a service, in a workspace'],
  ['workspace-user', 'For a person, in a workspace'],
  ['organisation-service', 'For a service, in the whole organisation'],
  ['organisation-user', 'For a person, in the whole organisation'],
];

const commonScopes = [
  ['completions.write', 'call models'],
  ['mcp.invoke', 'call MCP servers'],
  ['logs.list', 'list the log'],
  ['analytics.view', 'view analytics'],
] as const;

export function CreateKey({ onClose, onDone }: CreateProps) {
  const offered = types.filter(([type]) => mayDo(scopeOf(type, 'create')));
  const [draft, setWhole] = useState<Draft>({
    type: offered[0]?.[0] ?? 'workspace-service',
    workspace: selectedWorkspace.value || (workspaces.value[0]?.slug ?? ''),
    name: '',
    userId: '',
    scopes: new Set(mayDo('completions.write') ? ['completions.write'] : []),
    otherScopes: '',
    expiresAt: '',
    budget: '',
    budgetType: 'cost',
    budgetPeriod: 'monthly',
    rate: '',
    rateUnit: 'rpm',
  });
  const [value, setValue] = useState<string | null>(null);
  const send = useRepeatable();
  const set: SetDraft = (change) => setWhole((old) => ({ ...old, ...change }));
  if (value !== null) {
    return (
      <SecretDialog
        title={`Key ${draft.name}`}
        label="Value of the key"
        value={value}
        onClose={onClose}
      >
        <p>The page Client setup shows where clients take it.</p>
      </SecretDialog>
    );
  }
  const act = async (): Promise<void> => {
    const [type, subType] = draft.type.split('-') as [string, string];
    const address = addressOf('/v1/api-keys/{type}/{subType}', {}, { type, subType });
    const { key } = await send<{ key: string }>(address, bodyOf(draft));
    setValue(key);
    onDone();
  };
  return (
    <ActionDialog title="Create a key" verb="Create" onClose={onClose} act={act} returnsSecret>
      <Identity draft={draft} set={set} offered={offered} />
      <Scopes draft={draft} set={set} />
      <Limits draft={draft} set={set} />
    </ActionDialog>
  );
}

/** The body of the request; empty fields are left out, so that the server's defaults hold. */
function bodyOf(draft: Draft): Record<string, unknown> {
  const others = draft.otherScopes.split(/[\s,]+/).filter((scope) => scope !== '');
  const body: Record<string, unknown> = {
    name: draft.name,
    scopes: [...new Set([...draft.scopes, ...others])],
  };
  if (draft.type.startsWith('workspace')) body.workspace_id = draft.workspace;
  if (draft.type.endsWith('user')) body.user_id = draft.userId;
  if (draft.expiresAt !== '') body.expires_at = new Date(draft.expiresAt).toISOString();
  if (draft.budget !== '') {
    const { budgetPeriod: period } = draft;
    const limit = { type: draft.budgetType, credit_limit: Number(draft.budget) };
    body.usage_limits = period === '' ? limit : { ...limit, periodic_reset: period };
  }
  if (draft.rate !== '') {
    const value = Number(draft.rate);
    body.rate_limits = [{ type: 'requests', unit: draft.rateUnit, value }];
  }
  return body;
}

interface PartProps {
  readonly draft: Draft;
  readonly set: SetDraft;
}

function Identity({ draft, set, offered }: PartProps & { readonly offered: typeof types }) {
  return (
    <>
      <TextField
        label="Name"
        value={draft.name}
        onValue={(name) => set({ name })}
        hint="nightly-report"
        isRequired
      />
      <div class="pair">
        <ChoiceField
          label="Type"
          value={draft.type}
          onValue={(type) => set({ type: type as Draft['type'] })}
          choices={offered}
        />
        {draft.type.startsWith('workspace') && (
          <WorkspaceField value={draft.workspace} onValue={(workspace) => set({ workspace })} />
        )}
        {draft.type.endsWith('user') && (
          <TextField
            label="Id of the person (page People)"
            value={draft.userId}
            onValue={(userId) => set({ userId })}
            isRequired
          />
        )}
        <TextField
          label="Expires (your time; empty: never)"
          type="datetime-local"
          value={draft.expiresAt}
          onValue={(expiresAt) => set({ expiresAt })}
        />
      </div>
    </>
  );
}

function Scopes({ draft: { scopes, otherScopes }, set }: PartProps) {
  const toggle = (scope: string, isOn: boolean): void => {
    const next = new Set(scopes);
    if (isOn) next.add(scope);
    else next.delete(scope);
    set({ scopes: next });
  };
  return (
    <FieldGroup legend="Scopes: the actions that the key allows">
      {commonScopes
        .filter(([scope]) => mayDo(scope))
        .map(([scope, text]) => (
          <CheckField
            key={scope}
            label={
              <>
                {text} <code class="quiet">{scope}</code>
              </>
            }
            isOn={scopes.has(scope)}
            onChange={(isOn) => toggle(scope, isOn)}
          />
        ))}
      <TextField
        label="Further scopes, separated by spaces"
        value={otherScopes}
        onValue={(value) => set({ otherScopes: value })}
        hint="configs.read configs.list"
      />
    </FieldGroup>
  );
}

function Limits({ draft, set }: PartProps) {
  return (
    <FieldGroup legend="Limits (empty: none)">
      <div class="pair">
        <TextField
          label="Budget"
          type="number"
          min={1}
          value={draft.budget}
          onValue={(budget) => set({ budget })}
        />
        <ChoiceField
          label="Counts"
          value={draft.budgetType}
          onValue={(type) => set({ budgetType: type as Draft['budgetType'] })}
          choices={[
            ['cost', 'US dollars'],
            ['tokens', 'tokens'],
          ]}
        />
        <ChoiceField
          label="Resets"
          value={draft.budgetPeriod}
          onValue={(period) => set({ budgetPeriod: period as Draft['budgetPeriod'] })}
          choices={[
            ['monthly', 'monthly'],
            ['weekly', 'weekly'],
            ['', 'never'],
          ]}
        />
        <TextField
          label="Requests"
          type="number"
          min={1}
          value={draft.rate}
          onValue={(rate) => set({ rate })}
        />
        <ChoiceField
          label="In"
          value={draft.rateUnit}
          onValue={(unit) => set({ rateUnit: unit as Draft['rateUnit'] })}
          choices={[
            ['rps', 'a second'],
            ['rpm', 'a minute'],
            ['rph', 'an hour'],
            ['rpd', 'a day'],
          ]}
        />
      </div>
    </FieldGroup>
  );
}
