/** A network namespace with one link to this machine, which can be taken down. */
import { execFileSync } from 'node:child_process';
import { startRelay } from './relay.ts';

export interface PrivateNetwork extends AsyncDisposable {
  /** Address of this machine, and of processes inside. */
  readonly hostAddress: string;
  readonly guestAddress: string;
  /** Program and arguments that start another program inside. */
  readonly launcher: readonly string[];
  /** Lets processes inside reach a port of this machine at the same port of `hostAddress`. */
  expose(port: number): Promise<void>;
  setLink(state: 'up' | 'down'): void;
}

function ip(...words: readonly string[]): void {
  execFileSync('ip', words, { stdio: 'ignore' });
}

/** Returns null where this user may not create one. */
export function openPrivateNetwork(): PrivateNetwork | null {
  const name = `gauntlet-${process.pid}`;
  // Two runs at once get different networks; names of links have at most 15 characters.
  const [host, guest] = [`gh${process.pid}`, `gg${process.pid}`];
  const network = `10.231.${process.pid % 256}`;
  const [hostAddress, guestAddress] = [`${network}.1`, `${network}.2`];
  const inside = ['netns', 'exec', name, 'ip'];
  try {
    ip('netns', 'add', name);
  } catch {
    return null;
  }
  try {
    ip('link', 'add', host, 'type', 'veth', 'peer', 'name', guest, 'netns', name);
    ip('addr', 'add', `${hostAddress}/30`, 'dev', host);
    ip('link', 'set', host, 'up');
    ip(...inside, 'addr', 'add', `${guestAddress}/30`, 'dev', guest);
    for (const link of [guest, 'lo']) ip(...inside, 'link', 'set', link, 'up');
  } catch {
    ip('netns', 'del', name);
    return null;
  }
  const relays = new AsyncDisposableStack();
  return {
    hostAddress,
    guestAddress,
    launcher: ['ip', 'netns', 'exec', name],
    expose: async (port) =>
      void relays.use(await startRelay({ host: hostAddress, port }, () => port)),
    setLink: (state) => ip('link', 'set', host, state),
    [Symbol.asyncDispose]: async () => {
      await relays.disposeAsync();
      ip('link', 'del', host);
      ip('netns', 'del', name);
    },
  };
}
