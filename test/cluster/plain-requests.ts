/** Knows how tests ask a Kubernetes API for objects of any kind, and what it has against them. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import type { KubernetesObject } from '../chart/helm.ts';
import type { KubernetesApi } from './kubernetes-api.ts';

interface Answer {
  readonly statusCode: number;
  readonly warnings: readonly string[];
  readonly text: string;
}

const plurals: Readonly<Record<string, string>> = {
  Ingress: 'ingresses',
  NetworkPolicy: 'networkpolicies',
  OCIRepository: 'ocirepositories',
};

/** As an administrator. */
export class PlainRequests implements AsyncDisposable {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(api: KubernetesApi) {
    this.#url = api.url;
    const config = JSON.parse(readFileSync(api.kubeconfig('admin'), 'utf8'));
    const ca = readFileSync(config.clusters[0].cluster['certificate-authority'], 'utf8');
    this.#agent = new Agent({ connect: { ca }, connections: 4 });
  }

  async ask(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: object,
    type = 'application/json',
  ): Promise<Answer> {
    const answer = await request(`${this.#url}${path}`, {
      ...{ dispatcher: this.#agent, method },
      headers: { authorization: 'Bearer token-of-admin', 'content-type': type },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    const warnings = [answer.headers.warning ?? []].flat();
    return { statusCode: answer.statusCode, warnings, text };
  }

  /** What the server has against a new object, warnings too. */
  async create(path: string, object: object): Promise<string[]> {
    const { statusCode, warnings, text } = await this.ask('POST', path, object);
    return statusCode === 201 ? [...warnings] : [...warnings, text];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Where objects of its kind are made; `namespace` is that of those that name none. */
export function collectionOf(
  { apiVersion, kind, metadata }: KubernetesObject,
  namespace: string,
): string {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = plurals[kind] ?? `${kind.toLowerCase()}s`;
  return `${base}/namespaces/${metadata.namespace ?? namespace}/${plural}`;
}
