/** Tests that a real Kubernetes accepts the rendered chart for valid values, and that rendering is stable. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  chartFolder,
  complete,
  helm,
  helmMajors,
  type KubernetesObject,
  render,
} from '../chart/helm.ts';
import { randomValues } from '../chart/random-values.ts';
import { stories } from '../chart/stories.ts';
import { seed } from '../support/run/test-effort.ts';
import { eventually } from '../support/server/eventually.ts';
import { type KubernetesApi, startKubernetesApi, unavailable } from './kubernetes-api.ts';
import { collectionOf, PlainRequests } from './plain-requests.ts';
import { resourceDefinitions } from './resource-definitions.ts';

const definitions = unavailable === null ? resourceDefinitions() : unavailable;
const unknown = typeof definitions === 'string' ? definitions : null;
const foreignGroups = /^(monitoring\.coreos\.com|gateway\.networking\.k8s\.io|cert-manager\.io)\//;
const apply = 'application/apply-patch+yaml';

describe.skipIf(unavailable !== null)(
  `the rendered chart${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let api: KubernetesApi;
    let requests: PlainRequests;

    beforeAll(async () => {
      api = await startKubernetesApi();
      requests = new PlainRequests(api);
      expect(
        await requests.create('/apis/scheduling.k8s.io/v1/priorityclasses', {
          apiVersion: 'scheduling.k8s.io/v1',
          kind: 'PriorityClass',
          value: 1,
          metadata: { name: 'high' },
        }),
      ).toEqual([]);
      const profile = { enforce: 'restricted', warn: 'restricted' };
      const labels = Object.fromEntries(
        Object.entries(profile).map(([mode, level]) => [
          `pod-security.kubernetes.io/${mode}`,
          level,
        ]),
      );
      for (const name of ['gateways', 'apps', 'argocd', 'gatewright']) {
        const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
        expect(await requests.create('/api/v1/namespaces', namespace)).toEqual([]);
      }
      if (typeof definitions !== 'string') await define(definitions);
    });
    afterAll(async () => {
      await requests?.[Symbol.asyncDispose]();
      await api?.[Symbol.asyncDispose]();
    });

    async function define(all: Exclude<typeof definitions, string>): Promise<void> {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      for (const definition of all) await requests.create(path, definition);
      for (const { metadata } of all) {
        await eventually(async () => {
          const { text } = await requests.send('GET', `${path}/${metadata.name}`);
          expect(text).toMatch(/"type":"Established","status":"True"/);
        });
      }
    }

    /** Validates an object by a dry run; returns warnings and errors. */
    async function validationFaults(object: KubernetesObject): Promise<string[]> {
      const { kind, metadata } = object;
      const path = `${collectionOf(object, 'gateways')}?dryRun=All&fieldValidation=Strict`;
      return (await requests.create(path, object)).map(
        (text) => `${kind} ${metadata.name}: ${text}`,
      );
    }

    const isKnown = ({ apiVersion }: KubernetesObject): boolean =>
      unknown === null || !foreignGroups.test(apiVersion);

    it('is admitted in a namespace of the restricted profile, for random values', async () => {
      await fc.assert(
        fc.asyncProperty(randomValues, async (values) => {
          const objects = await render(values);
          expect(objects.length).toBeGreaterThan(5);
          const faults = await Promise.all(objects.filter(isKnown).map(validationFaults));
          expect(faults.flat()).toEqual([]);
        }),
        {
          endOnFailure: true,
          numRuns: 30,
          seed,
        },
      );
    });

    it.skipIf(unknown !== null)(
      `has monitors, rules and routes that match their definitions${unknown === null ? '' : ` (${unknown})`}`,
      async () => {
        const objects = (await render(stories.everything)).filter(({ apiVersion }) =>
          foreignGroups.test(apiVersion),
        );
        expect(objects.map(({ kind }) => kind).sort()).toEqual([
          'HTTPRoute',
          'HTTPRoute',
          'HTTPRoute',
          'PrometheusRule',
          'ServiceMonitor',
        ]);
        expect((await Promise.all(objects.map(validationFaults))).flat()).toEqual([]);
      },
    );

    it.skipIf(unknown !== null)(
      `has valid examples for Argo CD and Flux in its README${unknown === null ? '' : ` (${unknown})`}`,
      async () => {
        const readme = readFileSync(join(chartFolder, 'README.md'), 'utf8');
        const blocks = [...readme.matchAll(/```yaml\n(apiVersion:[^`]+)```/g)];
        const objects = blocks.flatMap(([, text]) =>
          parseAllDocuments(text!).map((document) => document.toJSON() as KubernetesObject),
        );
        expect(objects.map(({ kind }) => kind)).toEqual([
          'Application',
          'OCIRepository',
          'HelmRelease',
        ]);
        expect((await Promise.all(objects.map(validationFaults))).flat()).toEqual([]);
      },
    );

    /** Applies an object like a GitOps operator; returns the result. */
    async function applyAsOperator(object: KubernetesObject, options = ''): Promise<object> {
      const path = `${collectionOf(object, 'gateways')}/${object.metadata.name}`;
      const words = `?fieldManager=gitops&force=true&fieldValidation=Strict${options}`;
      const { statusCode, text } = await requests.send('PATCH', `${path}${words}`, object, apply);
      expect(`${statusCode} ${statusCode < 300 ? '' : text}`).toMatch(/^20[01] /);
      const { metadata, ...rest } = JSON.parse(text);
      return { ...rest, metadata: { ...metadata, managedFields: undefined } };
    }

    /** Renders with the flags of Argo CD, without hooks. */
    const renderedByOperator = async (
      values: object,
      major: (typeof helmMajors)[number],
    ): Promise<KubernetesObject[]> => {
      const options = ['--include-crds', '--kube-version', '1.34.4', '--api-versions', 'apps/v1'];
      const objects = await render(values, major, options);
      const isHook = ({ metadata }: KubernetesObject): boolean =>
        metadata.annotations?.['helm.sh/hook'] !== undefined;
      return objects.filter((object) => !isHook(object)).filter(isKnown);
    };

    it.each(Object.entries(stories))(
      'shows no difference when %s is applied again after the cluster and the daemon have written to it',
      async (_, values) => {
        const before = await renderedByOperator(values, 3);
        const live = new Map<string, object>();
        const nameOf = ({ kind, metadata }: KubernetesObject): string =>
          `${kind} ${metadata.namespace}/${metadata.name}`;
        for (const object of before) live.set(nameOf(object), await applyAsOperator(object));
        await writeAsOtherManagers(before, live);
        for (const object of await renderedByOperator(values, 4)) {
          expect(await applyAsOperator(object, '&dryRun=All')).toEqual(live.get(nameOf(object)));
        }
      },
    );

    it.each(helmMajors)(
      'keeps its number of pods when Helm %i turns autoscaling on and upgrades again',
      async (major) => {
        const release = `scaled-${major}`;
        const deployment = `/apis/apps/v1/namespaces/gateways/deployments/${release}-gatewright-server`;
        const options = ['--namespace', 'gateways', '--kubeconfig', api.kubeconfig('admin')];
        const run = async (verb: string, server: object): Promise<void> => {
          const words = [verb, release, chartFolder, ...options];
          expect(await helm(major, words, { ...complete, server })).toMatchObject({ exitCode: 0 });
        };
        const replicas = async (): Promise<number> =>
          JSON.parse((await requests.send('GET', deployment)).text).spec.replicas;
        const autoscaling = { enabled: true, minReplicas: 2, maxReplicas: 6 };
        await run('install', { replicas: 4 });
        await run('upgrade', { autoscaling });
        expect(await replicas()).toBe(4);
        const scale = { spec: { replicas: 5 } };
        const type = 'application/merge-patch+json';
        await requests.send('PATCH', `${deployment}/scale`, scale, type);
        await run('upgrade', { autoscaling, lameDuckSeconds: 5 });
        expect(await replicas()).toBe(5);
      },
    );

    /** Writes like an autoscaler and like the daemon. */
    async function writeAsOtherManagers(
      objects: readonly KubernetesObject[],
      live: Map<string, object>,
    ): Promise<void> {
      for (const object of objects) {
        const { kind, metadata, spec } = object;
        const path = `${collectionOf(object, 'gateways')}/${metadata.name}`;
        const isScaled = kind === 'Deployment' && !('replicas' in (spec as object));
        const isStatus = metadata.name.endsWith('-status');
        if (!isScaled && !isStatus) continue;
        const change = isScaled ? { spec: { replicas: 4 } } : { data: { workspace: 'Synced' } };
        const target = isScaled ? `${path}/scale` : path;
        const type = 'application/merge-patch+json';
        const { statusCode } = await requests.send('PATCH', target, change, type);
        expect(statusCode).toBe(200);
        const { text } = await requests.send('GET', path);
        const { metadata: meta, ...rest } = JSON.parse(text);
        const current = { ...rest, metadata: { ...meta, managedFields: undefined } };
        live.set(`${kind} ${metadata.namespace}/${metadata.name}`, current);
      }
    }
  },
);
