/** Yields the credentials of each request to the Kubernetes API, and renews them when the API rejects them. */
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { waitAtMost } from '../clock.ts';
import { Failure } from '../failure.ts';
import { KubeUnreachable } from './kube-errors.ts';

export interface KubeCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername'>;
}

/** A login program such as `aws eks get-token` must end within this time. */
const loginMsMax = 30_000;
const reasonLengthMax = 300;

export class KubeLogin {
  readonly #load: () => KubeConfig;
  readonly #loginMsMax: number;
  #config: KubeConfig;
  #pending: Promise<KubeCredentials> | null = null;

  /** @throws Failure of `load`, which is called again for every renewal */
  constructor(load: () => KubeConfig, msMax = loginMsMax) {
    this.#load = load;
    this.#loginMsMax = msMax;
    this.#config = load();
  }

  get config(): KubeConfig {
    return this.#config;
  }

  /**
   * The library reads token files again after 60 s and caches what a login program prints until it
   * expires. Concurrent calls share one run of the program.
   *
   * @throws Failure that quotes no credential
   */
  async current(): Promise<KubeCredentials> {
    const config = this.#config;
    this.#pending ??= readCredentials(config).finally(() => {
      this.#pending = null;
    });
    const { exec } = config.getCurrentUser() ?? {};
    const late = new KubeUnreachable(
      `the login of Kubernetes (${exec?.command ?? 'kubeconfig'}) takes longer than ${this.#loginMsMax} ms`,
    );
    let credentials: KubeCredentials | null = null;
    const pending = this.#pending.then((result) => {
      credentials = result;
    });
    await waitAtMost(this.#loginMsMax, pending);
    if (credentials === null) throw late;
    return credentials;
  }

  /** Reads kubeconfig, token files and login programs anew, whatever has been cached. */
  async renewed(): Promise<KubeCredentials> {
    this.#config = this.#load();
    this.#pending = null;
    return await this.current();
  }
}

async function readCredentials(config: KubeConfig): Promise<KubeCredentials> {
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
  } catch (error) {
    throw loginFailure(error as NodeJS.ErrnoException, config.getCurrentUser()?.exec?.command);
  }
  const { auth, ca, cert, key, servername } = options;
  const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    // Files of tokens may end with a newline.
    String(value).trim(),
  ]);
  return {
    headers: {
      ...(auth ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {}),
      ...Object.fromEntries(headers),
    },
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
    },
  };
}

function loginFailure(error: NodeJS.ErrnoException, command: string | undefined): Failure {
  const { code, path, syscall, message } = error;
  if (syscall?.startsWith('spawn') === true) {
    const text = `the login program ${command} of the kubeconfig cannot be started (${code})`;
    return new Failure('invalidInput', text);
  }
  if (path !== undefined) return new Failure('invalidInput', `${path} cannot be read (${code})`);
  // The message of a syntax error quotes the output, which may contain a token.
  const lastLine = message.trim().split('\n').at(-1)!.slice(0, reasonLengthMax);
  const reason = error instanceof SyntaxError ? 'its output is not JSON' : lastLine;
  const program = command === undefined ? '' : ` program ${command}`;
  return new KubeUnreachable(`the login${program} of the kubeconfig failed: ${reason}`);
}
