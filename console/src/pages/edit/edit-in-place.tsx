/** Edits a resource that no manifest declares, in the fields that an update may set. */
import { useEffect, useState } from 'preact/hooks';
import {
  addressOf,
  RequestFailed,
  readTagged,
  replaceTagged,
  type TaggedRecord,
} from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { DeclaredNote, guardrailScope } from '../../parts/declared.tsx';
import { Page, Problem, Section } from '../../parts/page.tsx';
import { goTo } from '../../routing/routes.ts';
import type { PageParts } from '../pages.ts';
import { TextArea } from './text-area.tsx';

interface EditableKind {
  readonly path: string;
  /** Scope for updating it, at its level. */
  readonly scope: (isOfWorkspace: boolean) => string;
  /** Members of the record that an update accepts. */
  readonly fields: readonly string[];
  /** Page of the resource. */
  readonly page: (id: string) => string;
  /** Members whose text is JSON. */
  readonly texts?: readonly string[];
}

const editableKinds: Readonly<Record<string, EditableKind>> = {
  Config: {
    path: '/v1/configs/{id}',
    scope: () => 'configs.update',
    fields: ['name', 'status', 'config'],
    texts: ['config'],
    page: (id) => `/configs/${id}`,
  },
  Guardrail: {
    path: '/v1/guardrails/{id}',
    scope: guardrailScope,
    fields: ['name', 'checks', 'actions'],
    page: (id) => `/guardrails/${id}`,
  },
  UsageLimitPolicy: {
    path: '/v1/policies/usage-limits/{id}',
    scope: () => 'policies.update',
    fields: ['name', 'credit_limit', 'alert_threshold', 'periodic_reset', 'periodic_reset_days'],
    page: (id) => `/limits/${id}`,
  },
  RateLimitPolicy: {
    path: '/v1/policies/rate-limits/{id}',
    scope: () => 'policies.update',
    fields: ['name', 'value'],
    page: () => '/limits',
  },
};

interface LoadedRecord extends TaggedRecord<Record<string, unknown>> {
  readonly text: string;
}

export default function EditInPlace({ parts }: { readonly parts: PageParts }) {
  const { kind = '', id = '' } = parts;
  const editable = editableKinds[kind];
  const [loaded, setLoaded] = useState<LoadedRecord | null>(null);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (editable === undefined) return;
    let isCurrent = true;
    setFailure(null);
    readTagged(addressOf(editable.path, {}, { id })).then(
      (read) => isCurrent && setLoaded({ ...read, text: textOf(editable, read.body) }),
      (error: unknown) => isCurrent && setFailure(asFailure(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [kind, id, round]);
  if (editable === undefined) return <Page title="Edit">This kind is not edited here.</Page>;
  const declared = loaded?.body as Parameters<typeof DeclaredNote>[0]['of'] | undefined;
  return (
    <Page title={`Edit ${loaded?.body.name ?? kind}`}>
      {failure !== null && <Problem error={failure} onRetry={() => setRound(round + 1)} />}
      {failure === null && loaded === null && <p class="quiet loading">Loading…</p>}
      {loaded !== null &&
        (declared?.declared_in == null ? (
          <Editor
            key={round}
            kind={editable}
            id={id}
            of={loaded}
            onReload={() => setRound(round + 1)}
          />
        ) : (
          <DeclaredNote kind={kind} of={declared} />
        ))}
    </Page>
  );
}

interface EditorProps {
  readonly kind: EditableKind;
  readonly id: string;
  readonly of: LoadedRecord;
  readonly onReload: () => void;
}

function Editor({ kind, id, of: { text: before, tag, body }, onReload }: EditorProps) {
  const isAllowed = mayDo(kind.scope(body.workspace_id != null));
  const [text, setText] = useState(before);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const [isBusy, setBusy] = useState(false);
  const save = (event: Event): void => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setFailure(null);
    send(kind, id, text, tag)
      .then(
        () => goTo(kind.page(id)),
        (error: unknown) => setFailure(asFailure(error)),
      )
      .finally(() => setBusy(false));
  };
  const isStale = failure?.status === 412;
  return (
    <Section title="Fields" about="A change is in force within a second.">
      <form onSubmit={save}>
        <TextArea label="JSON" value={text} onValue={setText} />
        {failure !== null && (
          <div class="problem" role="alert">
            <p>{failure.message}</p>
            {isStale && (
              <button type="button" onClick={onReload}>
                Load the newer version, and lose this text
              </button>
            )}
          </div>
        )}
        <div class="actions">
          <a class="button" href={`#${kind.page(id)}`}>
            Cancel
          </a>
          <button type="submit" class="main" disabled={isBusy || text === before || !isAllowed}>
            Save
          </button>
        </div>
      </form>
    </Section>
  );
}

async function send(kind: EditableKind, id: string, text: string, tag: string): Promise<void> {
  await replaceTagged(addressOf(kind.path, {}, { id }), parsed(text), tag);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RequestFailed(0, `The text is not JSON: ${(error as Error).message}`);
  }
}

function textOf({ fields, texts = [] }: EditableKind, record: Record<string, unknown>): string {
  const members = fields
    .filter((field) => record[field] !== undefined && record[field] !== null)
    .map((field) => {
      const value = record[field];
      return [field, texts.includes(field) ? JSON.parse(String(value)) : value] as const;
    });
  return `${JSON.stringify(Object.fromEntries(members), null, 2)}\n`;
}

function asFailure(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
}
