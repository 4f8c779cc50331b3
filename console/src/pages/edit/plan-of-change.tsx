/** Shows what a change of a manifest does: faults, the difference of the file, and the plan of sync. */
import { Section } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import type { Preview } from './edit-manifest.tsx';

export function PlanOfChange({ of: preview }: { readonly of: Preview }) {
  const { faults, plan } = preview;
  return (
    <>
      {faults.length > 0 && <Faults of={faults} />}
      <Section title="Difference">
        <Difference patch={preview.patch} />
      </Section>
      <Section title="Plan" about="What sync would do on this server once the change is merged.">
        {plan === null ? <p>The faults above prevent a plan.</p> : <Plan of={plan} />}
      </Section>
    </>
  );
}

function Faults({ of: faults }: { readonly of: Preview['faults'] }) {
  return (
    <div class="problem" role="alert">
      <ul>
        {faults.map(({ path, line, column, message, fix, is_new: isNew }) => (
          <li key={`${path}:${line}:${column} ${message}`}>
            <code>{`${path}:${line}:${column}`}</code> {message}
            {fix !== null && `; ${fix}`}
            {!isNew && ' (there before this change)'}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The signs at the start of lines say what the colours say. */
function Difference({ patch }: { readonly patch: string }) {
  const lines = patch.split('\n').slice(3, -1);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <pre class="difference" tabIndex={0}>
      {lines.map((line, at) => (
        <span key={`${at} ${line}`} class={classOf(line)}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

function classOf(line: string): string {
  if (line.startsWith('+')) return 'added';
  if (line.startsWith('-')) return 'removed';
  return line.startsWith('@@') ? 'quiet' : '';
}

function Plan({
  of: { changes, blocked, warnings },
}: {
  readonly of: NonNullable<Preview['plan']>;
}) {
  return (
    <>
      <Table
        caption="Changes of resources"
        rows={changes}
        keyOf={({ id }) => id}
        empty="Sync would change nothing."
        columns={[
          { name: 'Action', cell: ({ action }) => action },
          { name: 'Resource', cell: ({ id }) => <code>{id}</code> },
          { name: 'Fields', cell: (change) => <Fields of={change} /> },
          { name: 'Loosens access', cell: ({ loosens }) => (loosens ? 'yes' : 'no') },
        ]}
      />
      {[...blocked.map(({ id, message }) => `${id} is held back: ${message}`), ...warnings].map(
        (text) => (
          <p key={text} class="note">
            {text}
          </p>
        ),
      )}
    </>
  );
}

function Fields({
  of: { fields },
}: {
  readonly of: NonNullable<Preview['plan']>['changes'][number];
}) {
  return (
    <ul class="plain">
      {fields.map(({ path, from, to, secret }) => (
        <li key={path}>
          <code>{path}</code>
          {secret ? ' (secret)' : `: ${textOfValue(from)} → ${textOfValue(to)}`}
        </li>
      ))}
    </ul>
  );
}

function textOfValue(value: unknown): string {
  return value === null || value === undefined ? 'none' : JSON.stringify(value);
}
