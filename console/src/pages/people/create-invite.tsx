/** Invites a person to the organisation and, where chosen, to one workspace. */
import { useState } from 'preact/hooks';
import { change } from '../../api/client.ts';
import { ActionDialog } from '../../parts/dialog.tsx';
import { ChoiceField, TextField } from '../../parts/fields.tsx';
import { WorkspaceField } from '../../parts/workspace-field.tsx';

interface CreateProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function CreateInvite({ onClose, onDone }: CreateProps) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('member');
  const [workspace, setWorkspace] = useState('');
  const [workspaceRole, setWorkspaceRole] = useState('member');
  const act = async (): Promise<void> => {
    const places = workspace === '' ? [] : [{ id: workspace, role: workspaceRole }];
    await change('POST', '/v1/admin/users/invites', { email, role, workspaces: places });
    onDone();
  };
  return (
    <ActionDialog title="Invite a person" verb="Invite" onClose={onClose} act={act}>
      <TextField label="Address" type="email" value={email} onValue={setEmail} isRequired />
      <ChoiceField
        label="Role in the organisation"
        value={role}
        onValue={setRole}
        choices={[
          ['member', 'member: acts in own workspaces'],
          ['admin', 'admin: acts everywhere'],
        ]}
      />
      <div class="pair">
        <WorkspaceField value={workspace} onValue={setWorkspace} noneText="none" />
        {workspace !== '' && (
          <ChoiceField
            label="Role in the workspace"
            value={workspaceRole}
            onValue={setWorkspaceRole}
            choices={[
              ['member', 'member'],
              ['manager', 'manager'],
              ['admin', 'admin'],
            ]}
          />
        )}
      </div>
      <p class="quiet">
        The invite is open for seven days. No mail is sent: tell the person to sign in with this
        address.
      </p>
    </ActionDialog>
  );
}
