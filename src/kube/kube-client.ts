/** Opens the typed Kubernetes APIs that gatewright uses. */
/*
 * Only this file and those it imports load the library, about 15 MB: import it with `await import()`, and take
 * types and failures from the other files of this folder.
 */
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import {
  type ConfigurationOptions,
  createConfiguration,
} from '@kubernetes/client-node/dist/gen/configuration.js';
import { wrapHttpLibrary } from '@kubernetes/client-node/dist/gen/http/http.js';
import { ServerConfiguration } from '@kubernetes/client-node/dist/gen/servers.js';
import {
  ObjectCoordinationV1Api,
  ObjectCoreV1Api,
  ObjectEventsV1Api,
} from '@kubernetes/client-node/dist/gen/types/ObjectParamAPI.js';
import { setHeaderOptions } from '@kubernetes/client-node/dist/middleware.js';
import { PatchStrategy } from '@kubernetes/client-node/dist/patch.js';
import { V1MicroTime } from '@kubernetes/client-node/dist/types.js';
import type { Clock } from '../clock.ts';
import type { CallLimits } from '../remote/json-exchange.ts';
import { loadKubeConfig } from './kube-config.ts';
import { KubeLogin } from './kube-credentials.ts';
import { KubeHttp } from './kube-http.ts';

export interface KubeClientOptions {
  /** Path of a kubeconfig; null for the service account of the pod. Tests give the loaded form. */
  readonly config: string | null | (() => KubeConfig);
  readonly clock: Clock;
  /** Resolves after that many milliseconds. */
  readonly pause: (ms: number) => Promise<void>;
  readonly limits?: CallLimits | undefined;
}

/** Client of one cluster; dispose closes its sockets. */
export class KubeClient implements AsyncDisposable {
  readonly core: ObjectCoreV1Api;
  readonly coordination: ObjectCoordinationV1Api;
  readonly events: ObjectEventsV1Api;
  /** Host of the API server: `10.0.0.1:6443`. */
  readonly host: string;
  /** Sends the requests of all APIs; tests replace its `send`. */
  readonly http: KubeHttp;

  /** @throws Failure (invalid input) when the configuration cannot be used */
  constructor({ config, clock, pause, limits }: KubeClientOptions) {
    const login = new KubeLogin(
      typeof config === 'function' ? config : () => loadKubeConfig(config),
    );
    const cluster = login.config.getCurrentCluster()!;
    const server = new URL(cluster.server);
    const proxy = cluster.proxyUrl ? new URL(cluster.proxyUrl) : null;
    this.host = server.host;
    this.http = new KubeHttp({ login, server, proxy, clock, pause, limits });
    const configuration = createConfiguration({
      baseServer: new ServerConfiguration(cluster.server, {}),
      httpApi: wrapHttpLibrary(this.http),
    });
    this.core = new ObjectCoreV1Api(configuration);
    this.coordination = new ObjectCoordinationV1Api(configuration);
    this.events = new ObjectEventsV1Api(configuration);
  }

  /** Options of a patch; without them, the API would read it as a JSON patch. */
  patchOptions(strategy: 'ServerSideApply' | 'MergePatch'): ConfigurationOptions {
    return setHeaderOptions('Content-Type', PatchStrategy[strategy]);
  }

  /** A time in the format of Leases and Events; `at` in milliseconds since the epoch. */
  microTime(at: number): V1MicroTime {
    return new V1MicroTime(at);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.http[Symbol.asyncDispose]();
  }
}
