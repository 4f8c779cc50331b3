/** Guarantees that a real Kubernetes takes whatever the chart makes of valid values, without a warning. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubernetesObject, render } from '../chart/helm.ts';
import { randomValues } from '../chart/random-values.ts';
import { type KubernetesApi, startKubernetesApi, unavailable } from './kubernetes-api.ts';

const plurals: Readonly<Record<string, string>> = {
  Ingress: 'ingresses',
  NetworkPolicy: 'networkpolicies',
};

describe.skipIf(unavailable !== null)(
  `what the chart renders${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let api: KubernetesApi;
    let agent: Agent;

    beforeAll(async () => {
      api = await startKubernetesApi();
      const config = JSON.parse(readFileSync(api.kubeconfig('admin'), 'utf8'));
      const ca = readFileSync(config.clusters[0].cluster['certificate-authority'], 'utf8');
      agent = new Agent({ connect: { ca }, connections: 4 });
      expect(
        await create('/apis/scheduling.k8s.io/v1/priorityclasses', {
          ...{ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', value: 1 },
          metadata: { name: 'high' },
        }),
      ).toEqual([]);
      for (const name of ['gateways', 'apps']) {
        const profile = { enforce: 'restricted', warn: 'restricted' };
        const labels = Object.fromEntries(
          Object.entries(profile).map(([mode, level]) => [
            `pod-security.kubernetes.io/${mode}`,
            level,
          ]),
        );
        const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
        expect(await create('/api/v1/namespaces', namespace)).toEqual([]);
      }
    });
    afterAll(async () => {
      await agent?.destroy();
      await api?.[Symbol.asyncDispose]();
    });

    /** What the server has against it, warnings too. */
    async function create(path: string, body: object): Promise<string[]> {
      const {
        statusCode,
        headers,
        body: answer,
      } = await request(`${api.url}${path}`, {
        dispatcher: agent,
        method: 'POST',
        headers: { authorization: 'Bearer token-of-admin', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await answer.text();
      const warnings = [headers.warning ?? []].flat();
      return statusCode === 201 ? warnings : [...warnings, text];
    }

    async function complaints(object: KubernetesObject): Promise<string[]> {
      const { apiVersion, kind, metadata } = object;
      const plural = plurals[kind] ?? `${kind.toLowerCase()}s`;
      const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
      const path = `${base}/namespaces/${metadata.namespace ?? 'gateways'}/${plural}`;
      const found = await create(`${path}?dryRun=All&fieldValidation=Strict`, object);
      return found.map((text) => `${kind} ${metadata.name}: ${text}`);
    }

    it('is admitted in a namespace of the restricted profile, for values at random', async () => {
      await fc.assert(
        fc.asyncProperty(randomValues, async (values) => {
          const objects = await render(values);
          expect(objects.length).toBeGreaterThan(5);
          expect((await Promise.all(objects.map(complaints))).flat()).toEqual([]);
        }),
        {
          endOnFailure: true,
          numRuns: 30,
          seed: Number(process.env.GATEWRIGHT_TEST_SEED ?? 20_261_122),
        },
      );
    });
  },
);
