/** Signs in with the identity provider, or with a one-time link of `gatewright console`. */
import { useEffect, useState } from 'preact/hooks';
import { RequestFailed } from './api/client.ts';
import { signInByCode } from './api/session.ts';
import { replacePage } from './routing/routes.ts';

export function SignIn({ code }: { readonly code: string | undefined }) {
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    document.title = 'Sign in – gatewright';
    if (code === undefined) return;
    // The code leaves the address and the history before it is used.
    history.replaceState(null, '', '#/');
    signInByCode(code).then(
      () => replacePage('/'),
      (error: unknown) =>
        setFailure(error instanceof RequestFailed ? error.message : String(error)),
    );
  }, [code]);
  const isWaiting = code !== undefined && failure === null;
  return (
    <main class="sign-in">
      <h1>gatewright</h1>
      {isWaiting && <p class="quiet loading">Signing in…</p>}
      {failure !== null && (
        <p class="problem" role="alert">
          {failure}
        </p>
      )}
      {!isWaiting && (
        <>
          <a
            class="button main"
            href={`v1/sign-in?return_to=${encodeURIComponent(location.pathname)}`}
          >
            Sign in
          </a>
          <p class="quiet">
            Without an identity provider, run <code>gatewright console</code> where the server's
            credentials are, and open the link that it prints. A link works once, within five
            minutes.
          </p>
        </>
      )}
    </main>
  );
}
