/** Explains the chain of the audit log, with the command that verifies it. */
import { session } from '../../api/session.ts';
import { Code } from '../../parts/code.tsx';
import { Section } from '../../parts/page.tsx';
import type { AuditRecord } from './audit.tsx';

export function Chain({ records }: { readonly records: readonly AuditRecord[] }) {
  const sealed = records.find(({ chain_position: position }) => position !== null);
  const organisation = session.value?.tsg_id ?? '';
  const command = `gatewright audit verify --organisation ${organisation}`;
  return (
    <Section title="Proof">
      <p>
        Entries are chained by HMAC-SHA256 under a key that is derived from the master key and is
        not in the database. The command walks the chain and names entries that were changed,
        removed, inserted, backdated or moved, with exit code 3. Run it where the server's settings
        are.
      </p>
      <Code text={command} label="Verify the whole log" />
      {sealed !== undefined && (
        <>
          <p>
            The newest sealed entry above is at position {sealed.chain_position}. Store this line
            elsewhere, and run it later: it proves that nothing up to this entry was changed since,
            even by somebody who can restore an earlier database.
          </p>
          <Code
            text={`${command} --head ${sealed.chain_position}:${sealed.chain_hash}`}
            label="Verify that the log continues from this entry"
          />
        </>
      )}
    </Section>
  );
}
