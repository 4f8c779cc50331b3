/**
 * Reads and changes the address of the page. Pages are in the fragment of the address, so that the server serves one
 * document under any prefix; the browser's own URLPattern matches them.
 */
import { signal } from '@preact/signals';

/** The page's address: path and query of the fragment. */
const current = signal(readFragment());

globalThis.addEventListener('hashchange', () => {
  current.value = readFragment();
});

function readFragment(): string {
  const fragment = location.hash.slice(1);
  return fragment.startsWith('/') ? fragment : '/';
}

/** The path of the page, without its query: `/keys/4f…`. */
export const pathOf = (): string => new URL(current.value, 'http://page').pathname;

/** The query of the page. */
export const queryOf = (): URLSearchParams => new URL(current.value, 'http://page').searchParams;

/** Parameters of `pattern` (`/keys/:id`) in the path, or null when it does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const groups = new URLPattern({ pathname: pattern }).exec({ pathname: path })?.pathname.groups;
  if (groups === undefined) return null;
  const named = Object.entries(groups).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named.map(([name, value]) => [name, decodeURIComponent(value!)]));
}

/** Goes to a page. */
export function goTo(address: string): void {
  location.hash = address;
}

/** Goes to a page; the present one leaves no entry in the browser's history. */
export function replacePage(address: string): void {
  history.replaceState(null, '', `#${address}`);
  current.value = readFragment();
}

/** Changes members of the page's query; empty ones are removed. Replaces the entry of the history. */
export function changeQuery(members: Readonly<Record<string, string>>): void {
  const query = queryOf();
  for (const [name, value] of Object.entries(members)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  replacePage(`${pathOf()}${text === '' ? '' : `?${text}`}`);
}
