/** Says where a resource is declared, and leads to the page that changes it there or in place. */
import { mayDo } from '../api/session.ts';

interface DeclaredResource {
  readonly id: string;
  readonly declared_in: {
    readonly owner: string;
    readonly source: string;
    readonly path: string | null;
    readonly line: number | null;
    readonly commit: string | null;
  } | null;
}

interface DeclaredProps {
  /** Kind of its manifest: `Config`. */
  readonly kind: string;
  readonly of: DeclaredResource;
  /** Scope for changing it in place; absent where the console cannot. */
  readonly scope?: string;
}

export function DeclaredNote({ kind, of: { id, declared_in: declared }, scope }: DeclaredProps) {
  if (declared === null) {
    if (scope === undefined || !mayDo(scope)) return null;
    return (
      <p>
        <a class="button" href={`#/edit/${kind}/${id}`}>
          Edit
        </a>
      </p>
    );
  }
  const { owner, source, path, line, commit } = declared;
  const place = [path, line].filter((part) => part !== null).join(':');
  return (
    <div class="note">
      <p>
        <strong>Managed by sync</strong> (owner {owner}, manifest{' '}
        <code>
          {source} {place}
        </code>
        {commit !== null && (
          <>
            , commit <code>{commit.slice(0, 12)}</code>
          </>
        )}
        ).
      </p>
      {mayDo('organisation_settings.read') && (
        <p>
          <a class="button" href={`#/manifests/${kind}/${id}`}>
            Edit the manifest
          </a>
        </p>
      )}
    </div>
  );
}

/** Guardrails of the organisation have a scope of their own. */
export function guardrailScope(isOfWorkspace: boolean): string {
  return `${isOfWorkspace ? '' : 'organisation_'}guardrails.update`;
}
