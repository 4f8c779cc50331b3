/** Lays out a page: heading, actions, problems, sections. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ReplyState } from '../api/use-reply.ts';

interface PageProps {
  readonly title: string;
  /** One sentence on what the page is for. */
  readonly about?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Page({ title, about, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} – gatewright`;
  }, [title]);
  return (
    <>
      <header class="page">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {about !== undefined && <p class="quiet">{about}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

export function Section({ title, about, children }: Omit<PageProps, 'actions'>) {
  return (
    <section class="panel">
      <h2>{title}</h2>
      {about !== undefined && about !== false && <p class="quiet">{about}</p>}
      {children}
    </section>
  );
}

/** The server's words for a failure, with a button that tries again. */
export function Problem({
  error,
  onRetry,
}: {
  readonly error: { readonly message: string };
  readonly onRetry?: () => void;
}) {
  return (
    <div class="problem" role="alert">
      <p>{error.message}</p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Shows the content once it is loaded; a failure after that leaves the last content readable. */
export function Show<Body>({
  loaded,
  children,
}: {
  readonly loaded: ReplyState<Body>;
  readonly children: (body: Body) => ComponentChildren;
}) {
  const { body, error, reload } = loaded;
  return (
    <>
      {error !== null && <Problem error={error} onRetry={reload} />}
      {body === null ? error === null && <p class="quiet loading">Loading…</p> : children(body)}
    </>
  );
}

/** Names with values. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [string, ComponentChildren])[];
}) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
