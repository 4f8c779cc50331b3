/** Shows one audit entry: facts, metadata, and its place in the chain. */
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { Json } from '../../parts/code.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/page.tsx';
import { At } from '../../parts/text.tsx';
import type { AuditRecord, Entry } from './audit.tsx';

interface EntryProps {
  readonly entry: Entry;
  readonly record: AuditRecord | undefined;
  readonly onClose: () => void;
}

export function EntryDialog({ entry, record, onClose }: EntryProps) {
  const { resource_type: kind, resource_id: id, workspace_id: workspace } = entry;
  const hash = record?.chain_hash ?? null;
  const request = record?.request_id ?? '';
  return (
    <Dialog title={`${entry.action} ${kind}`} onClose={onClose}>
      <Facts
        facts={[
          ['Time', <At key="time" at={entry.created_at} />],
          ['By', `${entry.actor_type.replace('_', ' ')} ${entry.actor_id}`],
          ['Resource', id === '' ? '–' : <code key="id">{id}</code>],
          ['Workspace', workspace === null || workspace === '' ? '–' : nameOfWorkspace(workspace)],
          ['Request', request === '' ? '–' : <code key="request">{request}</code>],
          ['Entry', <code key="entry">{entry.id}</code>],
          ['Position in the chain', record?.chain_position ?? 'not yet sealed'],
          ['Hash', hash === null ? 'not yet sealed' : <code key="hash">{hash}</code>],
        ]}
      />
      <p class="quiet">
        {hash === null
          ? 'Within a minute the entry is sealed. Until then, a change of it in the database would not show.'
          : 'The hash covers this entry, its position and the hash before it. So nobody who can write to the database, and lacks the master key, can change or remove it unnoticed.'}
      </p>
      <Json value={entry.metadata} label="Metadata" />
      <div class="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
