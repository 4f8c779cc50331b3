/** Sends requests for Kubernetes objects of any kind, and collects warnings and errors. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import type { KubernetesObject } from '../chart/helm.ts';
import type { KubernetesApi } from './kubernetes-api.ts';

interface PlainResponse {
  readonly statusCode: number;
  readonly warnings: readonly string[];
  readonly text: string;
}

const plurals: Readonly<Record<string, string>> = {
  Ingress: 'ingresses',
  NetworkPolicy: 'networkpolicies',
  OCIRepository: 'ocirepositories',
};

/** Requests of an administrator. */
export class PlainRequests implements AsyncDisposable {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(api: KubernetesApi) {
    this.#url = api.url;
    const config = JSON.parse(readFileSync(api.kubeconfig('admin'), 'utf8'));
    const ca = readFileSync(config.clusters[0].cluster['certificate-authority'], 'utf8');
    this.#agent = new Agent({ connect: { ca }, connections: 4 });
  }

  async send(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: object,
    type = 'application/json',
  ): Promise<PlainResponse> {
    const response = await request(`${this.#url}${path}`, {
      dispatcher: this.#agent,
      method,
      headers: { authorization: 'Bearer token-of-admin', 'content-type': type },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.body.text();
    const warnings = [response.headers.warning ?? []].flat();
    return { statusCode: response.statusCode, warnings, text };
  }

  /** Creates an object and returns the warnings and errors of the server. */
  async create(path: string, object: object): Promise<string[]> {
    const { statusCode, warnings, text } = await this.send('POST', path, object);
    return statusCode === 201 ? [...warnings] : [...warnings, text];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Path of the collection of an object; `namespace` applies to objects without one. */
export function collectionOf(
  { apiVersion, kind, metadata }: KubernetesObject,
  namespace: string,
): string {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = plurals[kind] ?? `${kind.toLowerCase()}s`;
  return `${base}/namespaces/${metadata.namespace ?? namespace}/${plural}`;
}
