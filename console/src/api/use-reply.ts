/** Loads a reply of the Admin API into a component, and loads it again while the page is visible. */
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type BodyOf,
  type Query,
  type ReadablePath,
  RequestFailed,
  read,
  workspace,
} from './client.ts';

export interface Loaded<Body> {
  /** The last good reply, also while a newer one is loading or has failed; null before the first. */
  readonly body: Body | null;
  readonly error: RequestFailed | null;
  readonly isLoading: boolean;
  /** Milliseconds since the epoch of the last good reply, or null. */
  readonly loadedAt: number | null;
  reload(): void;
}

interface LoadOptions {
  readonly query?: Query;
  readonly parts?: Readonly<Record<string, string>>;
  /** Loads again after this time while the page is visible. */
  readonly everyMs?: number;
  /** Loads nothing while false. */
  readonly isOn?: boolean;
}

type State<Body> = Omit<Loaded<Body>, 'reload'>;

export function useReply<Path extends ReadablePath>(
  path: Path,
  { query = {}, parts = {}, everyMs, isOn = true }: LoadOptions = {},
): Loaded<BodyOf<Path>> {
  const empty: State<BodyOf<Path>> = { body: null, error: null, isLoading: isOn, loadedAt: null };
  const [state, setState] = useState(empty);
  const [round, setRound] = useState(0);
  const key = JSON.stringify([path, query, parts, workspace.value, isOn]);
  const lastKey = useRef(key);
  useEffect(() => {
    if (!isOn) return;
    let isCurrent = true;
    const isOther = lastKey.current !== key;
    lastKey.current = key;
    setState((old) => ({ ...(isOther ? empty : old), isLoading: true }));
    const done = (next: Partial<State<BodyOf<Path>>>) => {
      if (isCurrent) setState((old) => ({ ...old, error: null, ...next, isLoading: false }));
    };
    read(path, query, parts).then(
      (body) => done({ body, loadedAt: Date.now() }),
      (error: unknown) => done({ error: asFailure(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, round]);
  useEffect(() => {
    if (everyMs === undefined || !isOn) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setRound((old) => old + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isOn]);
  return { ...state, reload: () => setRound((old) => old + 1) };
}

function asFailure(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
}
