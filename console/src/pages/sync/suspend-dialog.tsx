/** Asks what to suspend, for how long and why. */
import { useState } from 'preact/hooks';
import { change } from '../../api/client.ts';
import { ActionDialog } from '../../parts/dialog.tsx';
import { ChoiceField, TextField } from '../../parts/fields.tsx';

interface SuspendProps {
  readonly owner: string;
  readonly workspaces: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const lengths = [
  ['3600', 'One hour'],
  ['14400', 'Four hours'],
  ['86400', 'One day'],
  ['', 'Until it is resumed'],
] as const;

export function SuspendDialog({ owner, workspaces, onClose, onDone }: SuspendProps) {
  const [workspace, setWorkspace] = useState('');
  const [seconds, setSeconds] = useState('3600');
  const [reason, setReason] = useState('');
  const act = async (): Promise<void> => {
    await change('PUT', '/admin/v2/gatewright/sync/suspensions', {
      owner,
      ...(workspace === '' ? {} : { workspace }),
      ...(seconds === '' ? { until: null } : { for_seconds: Number(seconds) }),
      reason,
    });
    onDone();
  };
  return (
    <ActionDialog title={`Suspend sync of ${owner}`} verb="Suspend" onClose={onClose} act={act}>
      <p>Sync writes nothing until then. What is in force stays in force.</p>
      <ChoiceField
        label="What"
        value={workspace}
        onValue={setWorkspace}
        choices={[['', 'Everything'], ...workspaces.map((name) => [name, name] as const)]}
      />
      <ChoiceField label="For" value={seconds} onValue={setSeconds} choices={lengths} />
      <TextField label="Reason" value={reason} onValue={setReason} isRequired />
    </ActionDialog>
  );
}
