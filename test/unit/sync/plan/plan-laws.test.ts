/** Checks the laws of sync for generated estates, changes and drift. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import type {
  DesiredResource,
  Spec,
  SpecJson,
} from '../../../../src/sync/resources/resource-set.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

const runs = { numRuns: 300 };

/** Resources of one workspace, each present or absent and with some of its fields. */
interface Estate {
  readonly workspaces: readonly WorkspaceContent[];
}

interface WorkspaceContent {
  readonly description: string | null | undefined;
  readonly guardrails: readonly { deny: boolean | undefined }[];
  readonly configs: readonly { guardrail: number; document: Record<string, number> }[];
  readonly keys: readonly {
    config: number;
    scopes: string[];
    description: string | undefined;
    metadata: Record<string, string> | undefined;
  }[];
  readonly integrations: readonly { secret: string; server: boolean }[];
}

const shortText = fc.constantFrom('a', 'b', 'c');
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });
const choice = fc.nat({ max: 3 });
const content: fc.Arbitrary<WorkspaceContent> = fc.record({
  description: fc.constantFrom('x', 'y', null, undefined),
  guardrails: fc.array(fc.record({ deny: maybe(fc.boolean()) }), { maxLength: 2 }),
  configs: fc.array(
    fc.record({ guardrail: choice, document: fc.dictionary(shortText, fc.nat({ max: 2 })) }),
    { maxLength: 2 },
  ),
  keys: fc.array(
    fc.record({
      config: choice,
      scopes: fc.uniqueArray(fc.constantFrom('logs.view', 'mcp.invoke', 'logs.list'), {
        minLength: 1,
      }),
      description: maybe(shortText),
      metadata: maybe(fc.dictionary(shortText, shortText)),
    }),
    { maxLength: 2 },
  ),
  integrations: fc.array(fc.record({ secret: shortText, server: fc.boolean() }), { maxLength: 1 }),
});
const estate: fc.Arbitrary<Estate> = fc.record({
  workspaces: fc.array(content, { maxLength: 2 }),
});

function resourcesOf({ workspaces }: Estate): DesiredResource[] {
  return workspaces.flatMap((inside, at) => resourcesIn(`w${at}`, inside));
}

function resourcesIn(ws: string, inside: WorkspaceContent): DesiredResource[] {
  const { description, guardrails, configs, keys, integrations } = inside;
  return [
    want('Workspace', ws, defined({ description })),
    ...guardrails.map(({ deny }, at) =>
      want('Guardrail', `${ws}/g${at}`, {
        checks: [{ id: 'default.wordCount' }],
        ...(deny === undefined ? {} : { actions: { deny } }),
      }),
    ),
    ...configs.map(({ guardrail, document }, at) =>
      want('Config', `${ws}/c${at}`, {
        config: {
          ...document,
          ...(guardrail < guardrails.length
            ? { input_guardrails: [{ $ref: `Guardrail/${ws}/g${guardrail}` }] }
            : {}),
        },
      }),
    ),
    ...keys.map(({ config, scopes, description: text, metadata }, at) =>
      want('ApiKey', `${ws}/k${at}`, {
        type: 'workspace',
        sub_type: 'service',
        scopes,
        ...defined({ description: text }),
        defaults: {
          ...defined({ metadata }),
          ...(config < configs.length ? { config_id: { $ref: `Config/${ws}/c${config}` } } : {}),
        },
      }),
    ),
    ...integrations.flatMap(({ secret, server }, at) => [
      want(
        'McpIntegration',
        `${ws}/i${at}`,
        {
          url: 'https://x.example',
          auth_type: 'headers',
          transport: 'http',
          configurations: { custom_headers: { A: { $secret: 'env:A', fingerprint: '' } } },
        },
        { secrets: { '/configurations/custom_headers/A': secret } },
      ),
      ...(server
        ? [
            want('McpServer', `${ws}/s${at}`, {
              mcp_integration_id: { $ref: `McpIntegration/${ws}/i${at}` },
            }),
          ]
        : []),
    ]),
  ];
}

function defined(fields: Record<string, SpecJson | undefined>): Spec {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, SpecJson] => entry[1] !== undefined),
  );
}

/** Changes by others on the server: overwrite fields, add keys to documents, delete, create. */
const drift = fc.array(
  fc.record({ pick: fc.nat(), how: fc.constantFrom('field', 'document', 'remove', 'add') }),
  { maxLength: 4 },
);

function meddle(server: ModelServer, moves: readonly { pick: number; how: string }[]): void {
  for (const { pick, how } of moves) {
    const victim = server.resources[pick % Math.max(1, server.resources.length)];
    if (how === 'add') server.seed('Config', `hand-made-${pick}`, { config: {} });
    if (victim === undefined) continue;
    victim.version += 1;
    if (how === 'field') victim.spec.description = 'meddled';
    if (how === 'document' && victim.kind === 'Config') victim.spec.config = { meddled: true };
    const isFree = victim.kind === 'ApiKey' || victim.kind === 'McpServer';
    if (how === 'remove' && isFree) server.remove(victim.id);
  }
}

function reported(plan: Plan): unknown {
  const { changes, blocked, warnings, unchanged } = plan;
  return JSON.parse(JSON.stringify({ changes, blocked, warnings, unchanged }));
}

describe('for any estate, any earlier estate and any drift', () => {
  it('plans nothing after an apply, so that a second apply writes nothing', () => {
    fc.assert(
      fc.property(estate, drift, estate, (before, moves, after) => {
        const server = new ModelServer();
        server.apply(server.plan(setOf(resourcesOf(before))));
        meddle(server, moves);
        const desired = setOf(resourcesOf(after));
        const plan = server.plan(desired);
        expect(plan.blocked).toEqual([]);
        server.apply(plan);
        const again = server.plan(desired);
        expect(again.changes.map(({ id, fields }) => [id, fields])).toEqual([]);
        expect(again.unchanged).toBe(desired.resources.length);
      }),
      runs,
    );
  });

  it('deletes only what this owner declared and the source no longer names', () => {
    fc.assert(
      fc.property(estate, estate, estate, (ours, theirs, after) => {
        const server = new ModelServer();
        server.apply(server.plan(setOf(resourcesOf(ours))));
        const foreign = resourcesOf(theirs).map((resource) =>
          want(
            resource.identity.kind,
            [resource.identity.workspace, resource.identity.name]
              .filter((part) => part !== null)
              .map((part) => `b-${part}`)
              .join('/'),
            JSON.parse(
              JSON.stringify(resource.spec)
                .replaceAll(/\/(w\d)/g, '/b-$1')
                .replaceAll(/\/([gcki]\d)"/g, '/b-$1"'),
            ),
            {
              secrets: Object.fromEntries(
                [...resource.secrets].map(([at, secret]) => [at, secret.reveal()]),
              ),
            },
          ),
        );
        server.apply(server.plan(setOf(foreign), { as: 'team-b' }));
        server.seed('Config', 'hand-made', { config: { a: 1 } });
        const isOthers = (stored: { managed_by: { owner: string } | null }): boolean =>
          stored.managed_by?.owner !== 'platform';
        const before = JSON.stringify(server.resources.filter(isOthers));
        const desired = resourcesOf(after);
        const plan = server.plan(setOf(desired));
        const wanted = new Set(desired.map(({ identity }) => JSON.stringify(identity)));
        for (const change of plan.changes.filter(({ action }) => action === 'delete')) {
          expect(change.live?.owner).toBe('platform');
          expect(wanted.has(JSON.stringify(change.identity))).toBe(false);
        }
        server.apply(plan);
        expect(JSON.stringify(server.resources.filter(isOthers))).toBe(before);
      }),
      runs,
    );
  });

  it('ignores the order of documents and keys', () => {
    fc.assert(
      fc.property(estate, estate, drift, fc.nat(), (before, after, moves, turn) => {
        const server = new ModelServer();
        server.apply(server.plan(setOf(resourcesOf(before))));
        meddle(server, moves);
        const straight = resourcesOf(after);
        const turned = straight
          .map((resource, at) => ({ resource, rank: (at * 7919 + turn) % 101 }))
          .toSorted((one, two) => one.rank - two.rank)
          .map(({ resource }) => ({ ...resource, spec: reversed(resource.spec) as Spec }));
        const one = server.plan(setOf(straight));
        const two = server.plan(setOf(turned));
        // `toEqual` ignores the order of keys only.
        expect(reported(two)).toEqual(reported(one));
      }),
      runs,
    );
  });

  it('leaves no reference without target after any step', () => {
    fc.assert(
      fc.property(estate, estate, (before, after) => {
        const server = new ModelServer();
        const step = (): void => expect(server.dangling()).toEqual([]);
        server.apply(server.plan(setOf(resourcesOf(before))), step);
        server.apply(server.plan(setOf(resourcesOf(after))), step);
        server.apply(server.plan(setOf([])), step);
        expect(server.resources).toEqual([]);
      }),
      runs,
    );
  });
});

function reversed(value: SpecJson): SpecJson {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reversed(item)]),
  );
}
