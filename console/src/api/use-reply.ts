/** Loads a reply of the Admin API into a component, and loads it again while the page is visible. */
import { useEffect, useState } from 'preact/hooks';
import {
  type BodyOf,
  type Query,
  type ReadablePath,
  RequestFailed,
  read,
  workspace,
} from './client.ts';

export interface ReplyState<Body> {
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

interface State<Body> extends Omit<ReplyState<Body>, 'reload'> {
  /** Names the request whose reply this is. */
  readonly key: string;
}

/** A reply of another request is never returned, not even while the new one is about to start. */
export function useReply<Path extends ReadablePath>(
  path: Path,
  { query = {}, parts = {}, everyMs, isOn = true }: LoadOptions = {},
): ReplyState<BodyOf<Path>> {
  const key = JSON.stringify([path, query, parts, workspace.value, isOn]);
  const empty: State<BodyOf<Path>> = {
    key,
    body: null,
    error: null,
    isLoading: isOn,
    loadedAt: null,
  };
  const [state, setState] = useState(empty);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!isOn) return;
    let isCurrent = true;
    const update = (next: Partial<State<BodyOf<Path>>>) => {
      if (isCurrent) setState((old) => ({ ...(old.key === key ? old : empty), ...next }));
    };
    update({ isLoading: true });
    read(path, query, parts).then(
      (body) => update({ body, error: null, isLoading: false, loadedAt: Date.now() }),
      (error: unknown) => update({ error: asFailure(error), isLoading: false }),
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
  const { body, error, isLoading, loadedAt } = state.key === key ? state : empty;
  return { body, error, isLoading, loadedAt, reload: () => setRound((old) => old + 1) };
}

function asFailure(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
}
