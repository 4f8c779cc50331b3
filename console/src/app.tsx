/** Shows the page at the address between navigation and header, or the page for signing in. */
import { signal } from '@preact/signals';
import { Component, type ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { isSignedOut, RequestFailed, workspace } from './api/client.ts';
import { loadSession, session } from './api/session.ts';
import { Navigation } from './navigation.tsx';
import { type PageComponent, type PageEntry, pages } from './pages/pages.ts';
import { Page, Problem } from './parts/page.tsx';
import { matchPath, pathOf } from './routing/routes.ts';
import { SignIn } from './sign-in.tsx';

const failure = signal<RequestFailed | null>(null);
/** Components of the pages that were opened. */
const opened = signal<ReadonlyMap<PageEntry, PageComponent>>(new Map());

function start(): void {
  failure.value = null;
  loadSession().catch((error: unknown) => {
    if (!isSignedOut.value) failure.value = error as RequestFailed;
  });
}

export function App() {
  const code = matchPath('/sign-in/:code', pathOf())?.code;
  useEffect(() => {
    if (code === undefined) start();
  }, []);
  if (code !== undefined || isSignedOut.value) return <SignIn code={code} />;
  if (failure.value !== null) return <Problem error={failure.value} onRetry={start} />;
  if (session.value === null) return <p class="quiet loading">Loading…</p>;
  return (
    <>
      <button
        type="button"
        class="skip"
        onClick={() => document.getElementById('content')?.focus()}
      >
        Skip to the content
      </button>
      <Navigation />
      <main id="content" tabIndex={-1}>
        <CurrentPage />
      </main>
    </>
  );
}

function CurrentPage() {
  const path = pathOf();
  const found = pages
    .map((entry) => ({ entry, parts: matchPath(entry.pattern, path) }))
    .find(({ parts }) => parts !== null);
  const entry = found?.entry;
  useEffect(() => {
    document.getElementById('content')?.focus({ preventScroll: true });
    scrollTo(0, 0);
    if (entry === undefined || opened.value.has(entry)) return;
    entry.load().then(
      ({ default: page }) => {
        opened.value = new Map([...opened.value, [entry, page]]);
      },
      () => {
        failure.value = new RequestFailed(0, 'This page could not be loaded. Reload the console.');
      },
    );
  }, [path]);
  if (entry === undefined || found === undefined) {
    return (
      <Page title="Unknown page">
        <p>There is no page {path}. Choose one in the navigation.</p>
      </Page>
    );
  }
  const OpenPage = opened.value.get(entry);
  if (OpenPage === undefined) return <p class="quiet loading">Loading…</p>;
  return (
    <Boundary key={`${path} ${workspace.value}`}>
      <OpenPage parts={found.parts!} />
    </Boundary>
  );
}

interface BoundaryState {
  readonly error: Error | null;
}

/** Keeps a page that throws from taking the navigation with it. */
class Boundary extends Component<{ readonly children: ComponentChildren }, BoundaryState> {
  override state: BoundaryState = { error: null };

  static override getDerivedStateFromError(error: Error): BoundaryState {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const text = `This page failed (${error.message}). Reload the console; if it fails again, report it.`;
    return <Problem error={new RequestFailed(0, text)} />;
  }
}
