/** Rotates, revokes and resets an API key, each after a question. */
import { useState } from 'preact/hooks';
import { addressOf, change } from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { useRepeatable } from '../../api/use-repeatable.ts';
import { ActionDialog, SecretDialog } from '../../parts/dialog.tsx';
import { ChoiceField } from '../../parts/fields.tsx';
import { Ago } from '../../parts/text.tsx';
import { goTo } from '../../routing/routes.ts';
import { type Key, scopeOf } from './key-texts.ts';

interface ActionsProps {
  readonly of: Key;
  readonly onChange: () => void;
}

type Action = 'rotate' | 'reset' | 'revoke';

/** Buttons of the actions that the user may do. */
export function KeyActions({ of: key, onChange }: ActionsProps) {
  const [open, setOpen] = useState<Action | null>(null);
  const shared = { of: key, onChange, onClose: () => setOpen(null) };
  const actions: readonly (readonly [Action, string, boolean])[] = [
    ['rotate', 'Rotate…', mayDo(scopeOf(key.type, 'rotate'))],
    ['reset', 'Reset usage…', key.usage_limits !== null && mayDo(scopeOf(key.type, 'update'))],
    ['revoke', 'Revoke…', mayDo(scopeOf(key.type, 'delete'))],
  ];
  return (
    <>
      {actions
        .filter(([, , isOffered]) => isOffered)
        .map(([action, text]) => (
          <button key={action} type="button" onClick={() => setOpen(action)}>
            {text}
          </button>
        ))}
      {open === 'rotate' && <RotateKey {...shared} />}
      {open === 'reset' && <ResetUsage {...shared} />}
      {open === 'revoke' && <RevokeKey {...shared} />}
    </>
  );
}

type DialogProps = ActionsProps & { readonly onClose: () => void };

const addressFor = (path: string, { id }: Key): string => addressOf(path, {}, { id });

const transitions = [
  ['', 'as its rotation policy says, else 30 minutes'],
  ['1800000', '30 minutes'],
  ['86400000', '1 day'],
  ['604800000', '7 days'],
] as const;

interface RotatedKey {
  readonly key: string;
  readonly key_transition_expires_at: string | null;
}

function RotateKey({ of: key, onChange, onClose }: DialogProps) {
  const [transition, setTransition] = useState('');
  const [rotated, setRotated] = useState<RotatedKey | null>(null);
  const send = useRepeatable();
  if (rotated !== null) {
    return (
      <SecretDialog
        title={`New value of ${key.name}`}
        label="Value of the key"
        value={rotated.key}
        onClose={onClose}
      >
        <p>
          The previous value works until it expires <Ago at={rotated.key_transition_expires_at} />.
        </p>
      </SecretDialog>
    );
  }
  const act = async (): Promise<void> => {
    const body = transition === '' ? {} : { key_transition_period_ms: Number(transition) };
    setRotated(await send<RotatedKey>(addressFor('/v1/api-keys/{id}/rotate', key), body));
    onChange();
  };
  return (
    <ActionDialog
      title={`Rotate ${key.name}`}
      verb="Rotate"
      onClose={onClose}
      act={act}
      returnsSecret
    >
      <p>
        The key gets a new value. Id, scopes, limits and usage stay. The previous value keeps
        working for a while, so that callers can change over.
      </p>
      <Managed of={key}>
        Sync delivers the values of this key. A value rotated here reaches no place to which sync
        delivers; ask for the rotation in the manifest instead, unless the value has leaked.
      </Managed>
      <ChoiceField
        label="The previous value works for"
        value={transition}
        onValue={setTransition}
        choices={transitions}
      />
    </ActionDialog>
  );
}

function ResetUsage({ of: key, onChange, onClose }: DialogProps) {
  const act = async (): Promise<void> => {
    await change('PUT', addressFor('/v1/api-keys/{id}', key), { reset_usage: true });
    onChange();
  };
  return (
    <ActionDialog title={`Reset usage of ${key.name}`} verb="Reset" onClose={onClose} act={act}>
      <p>
        The usage of the current window becomes zero. The whole budget can be used again until the
        window ends. The logs and their costs stay.
      </p>
    </ActionDialog>
  );
}

function RevokeKey({ of: key, onClose }: DialogProps) {
  const act = async (): Promise<void> => {
    await change('DELETE', addressFor('/v1/api-keys/{id}', key));
    goTo('/keys');
  };
  return (
    <ActionDialog
      title={`Revoke ${key.name}`}
      verb="Revoke"
      isDangerous
      onClose={onClose}
      act={act}
    >
      <p>
        The key is deleted. All gateways refuse it within a second. This cannot be undone; the logs
        keep its name.
      </p>
      <Managed of={key}>
        The next run of sync creates this key again, with a new value. Remove it from its manifest
        to end it for good.
      </Managed>
    </ActionDialog>
  );
}

/** A warning where sync manages the key. */
function Managed({ of: key, children }: { readonly of: Key; readonly children: string }) {
  if (key.declared_in === null) return null;
  return (
    <div class="note">
      <p>
        <strong>Managed by sync</strong> (owner {key.declared_in.owner}).
      </p>
      <p>{children}</p>
    </div>
  );
}
