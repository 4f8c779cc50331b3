/** Says whether sync manages a resource, and where its manifest is, from the resource's audit entries. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { BodyOf } from '../api/client.ts';
import { type ReplyState, useReply } from '../api/use-reply.ts';

type AuditPage = BodyOf<'/v1/audit-logs'>;
type Entry = AuditPage['data'][number];

const dayMs = 86_400_000;

interface Source {
  readonly owner: string;
  /** `repo file:line`, as far as they are known. */
  readonly place: string;
}

/** Returns the source that the newest entry with an owner names; null for none, and after a release. Entries are newest first. */
function sourceOf(entries: readonly Entry[]): Source | null {
  for (const { action, metadata } of entries) {
    if (action === 'release') return null;
    const { managed_by: managed } = metadata as { managed_by?: unknown };
    if (typeof managed !== 'object' || managed === null) continue;
    const { owner, source } = managed as { owner?: unknown; source?: Record<string, unknown> };
    if (typeof owner !== 'string') continue;
    const { repo, file, line } = source ?? {};
    const place = [file, line].filter((part) => part != null).join(':');
    return { owner, place: [repo, place].filter((part) => part != null && part !== '').join(' ') };
  }
  return null;
}

/** The newest 20 changes of a resource within a year, as far as the audit log goes back. */
export function useChanges(id: string, isOn: boolean): ReplyState<AuditPage> {
  const start_time = useMemo(() => {
    const today = Math.floor(Date.now() / dayMs) * dayMs;
    return new Date(today - 364 * dayMs).toISOString();
  }, []);
  return useReply('/v1/audit-logs', {
    query: { resource_id: id, page_size: 20, start_time },
    isOn,
  });
}

interface NoteProps {
  readonly entries: readonly Entry[];
  /** Says what this means for the action. */
  readonly children: ComponentChildren;
}

export function ManagedNote({ entries, children }: NoteProps) {
  const source = sourceOf(entries);
  if (source === null) return null;
  return (
    <div class="note">
      <p>
        <strong>Managed by sync</strong> (owner {source.owner}
        {source.place !== '' && (
          <>
            , manifest <code>{source.place}</code>
          </>
        )}
        ).
      </p>
      <p>{children}</p>
    </div>
  );
}
