/** Verifies the architecture: allowed imports, no import cycles, and limits on folders, files and functions. */
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findLongSpans } from '../support/source-limits.ts';

const root = resolve(import.meta.dirname, '../../src');
/**
 * Single files that depend on no room and that every room may import. The forms of managed names
 * and of trusted hosts are here because both the settings, which import no room, and the model
 * validate with them. One rule therefore decides, and a value that passes `settings --check` passes
 * everywhere.
 */
const ground = [
  'secret',
  'failure',
  'suggest',
  'package-root',
  'managed-name',
  'monotonic',
  'rate-limited',
  'trusted-hosts',
  'terminal-text',
  'task-thread',
  'detached',
  'slices',
  'file-lock',
  'durable-files',
];

/**
 * Each room and the rooms it may import in addition to the ground files. An inner room has a row of
 * its own; naming the outer room allows all of its inner rooms. The files directly in the outer
 * folder, which compose the inner rooms, form the room of the plain name. `sync/*` stands for all
 * inner rooms.
 */
const mayImport: Record<string, readonly string[]> = {
  main: ['program', 'commands/shared'],
  program: ['commands'],
  commands: ['commands/*', 'store', 'settings'],
  'commands/changes': [
    'commands/shared',
    'commands/sources',
    'commands/status',
    'commands/sync',
    'sync',
    'model',
    'settings',
    'clock',
  ],
  'commands/guardrails': [
    'commands/shared',
    'commands/sources',
    'commands/status',
    'sync',
    'guardrails',
    'upstream',
    'model',
    'clock',
  ],
  'commands/accounts': ['commands/shared', 'commands/sources', 'commands/status', 'sync', 'model'],
  'commands/status': ['commands/shared', 'commands/sources', 'sync', 'model'],
  'commands/manifests': ['commands/shared', 'commands/sources', 'sync', 'model'],
  'commands/server': [
    'commands/database',
    'commands/shared',
    'commands/status',
    'admin/logs',
    'app',
    'auth',
    'guardrails/models',
    'jobs',
    'embedded',
    'store',
    'model',
    'settings',
    'log',
    'clock',
  ],
  'commands/up': [
    'console',
    'commands/database',
    'commands/mock-upstream',
    'commands/shared',
    'commands/sources',
    'app',
    'embedded',
    'sync',
    'store',
    'model',
    'settings',
    'log',
    'clock',
  ],
  'commands/sync': [
    'commands/shared',
    'commands/sources',
    'sync',
    'model',
    'settings',
    'log',
    'clock',
  ],
  'commands/releases': ['commands/shared', 'releases', 'settings'],
  'commands/completion': ['commands/parsing', 'commands/shared'],
  'commands/parsing': ['commands/shared'],
  'commands/mock-upstream': ['commands/shared', 'app'],
  'commands/database': ['app', 'auth', 'embedded', 'store', 'settings'],
  'commands/sources': ['commands/shared', 'sync', 'kube', 'vault', 'model', 'settings', 'clock'],
  'commands/shared': ['store', 'settings', 'clock'],
  app: [
    'app/outages',
    'app/link',
    'app/spool',
    'app/request-metrics',
    'control-link',
    'ledger',
    'admin',
    'console',
    'snapshot',
    'gateway',
    'guardrails',
    'mcp',
    'jobs',
    'auth',
    'http',
    'store',
    'settings',
    'log',
    'clock',
    'model',
    'blobs',
    'spool',
    'upstream',
  ],
  'app/link': [
    'model',
    'app/outages',
    'control-link',
    'gateway/logs',
    'snapshot',
    'snapshot/reading',
    'jobs/regions',
    'jobs/runner',
    'ledger',
    'ledger/regions',
    'http',
    'store',
    'settings',
    'log',
    'clock',
  ],
  'control-link': [
    'snapshot/reading',
    'gateway/logs',
    'ledger',
    'http',
    'remote',
    'store',
    'model',
    'settings',
    'log',
  ],
  'app/outages': ['auth', 'blobs', 'settings', 'snapshot', 'store', 'http', 'log', 'clock'],
  'app/spool': ['spool', 'settings', 'log'],
  'app/request-metrics': ['gateway', 'mcp', 'model'],
  'guardrails/calls': ['model'],
  embedded: ['log', 'clock'],
  snapshot: ['snapshot/*', 'auth', 'store', 'settings', 'log', 'clock'],
  'snapshot/building': ['snapshot/format', 'auth', 'store'],
  'snapshot/reading': ['snapshot/format', 'auth', 'store', 'clock'],
  // Neither the client of the bucket nor the database: both are passed to it.
  'snapshot/bucket': ['snapshot/format', 'snapshot/reading'],
  'snapshot/format': ['auth', 'store'],
  console: ['http', 'model'],
  admin: ['admin/*', 'auth', 'http', 'store', 'model', 'settings', 'clock'],
  'admin/request': ['auth', 'http', 'store', 'model', 'settings', 'clock'],
  'admin/access': ['admin/request', 'auth', 'http', 'store', 'model'],
  ...adminFamilies('api-keys', 'workspaces', 'guardrails', 'configs', 'policies', 'mcp'),
  ...adminFamilies(
    'identity',
    'sync',
    'changes',
    'providers',
    'logs',
    'people',
    'secrets',
    'deployments',
    'prompts',
  ),
  gateway: [
    'gateway/*',
    'guardrails',
    'ledger',
    'objects',
    'upstream',
    'auth',
    'http',
    'store',
    'model',
    'remote',
  ],
  ...gatewayRooms({
    transfer: ['upstream', 'auth', 'http', 'model'],
    // `remote` for fetching token signing keys through the operator's proxy.
    callers: ['ledger', 'upstream', 'auth', 'store', 'model', 'remote', 'clock'],
    references: ['objects', 'model'],
    logins: ['upstream', 'secret-managers', 'aws', 'model', 'clock'],
    signing: ['upstream', 'aws', 'clock'],
    targets: ['objects', 'upstream', 'auth', 'secret-managers', 'store', 'model', 'clock'],
    metering: ['ledger', 'upstream', 'store', 'model'],
    strategies: ['model'],
    // `remote` for reaching the trace collector through the operator's proxy.
    logs: ['upstream', 'store', 'model', 'remote', 'spool'],
    guardrails: ['auth', 'guardrails', 'objects', 'upstream', 'store', 'model'],
    calls: ['guardrails', 'ledger', 'objects', 'upstream', 'auth', 'http', 'store', 'model'],
    objects: ['ledger', 'objects', 'upstream', 'auth', 'http', 'store', 'model', 'clock'],
    models: ['guardrails', 'http', 'model'],
    inference: ['upstream', 'auth', 'http', 'store', 'model'],
    realtime: ['auth', 'guardrails', 'ledger', 'upstream', 'http', 'model'],
  }),
  mcp: [
    'mcp/bridge',
    'mcp/messages',
    'mcp/oauth',
    'gateway/logins',
    'gateway/targets',
    'secret-managers',
    'upstream',
    'auth',
    'store',
    'model',
    'clock',
  ],
  'mcp/messages': ['model'],
  // Tokens of the gateway are obtained as for providers; its keys say which user is at a browser.
  'mcp/oauth': [
    'mcp/messages',
    'gateway/callers',
    'gateway/logins',
    'gateway/targets',
    'gateway/transfer',
    'secret-managers',
    'upstream',
    'auth',
    'http',
    'store',
    'model',
    'clock',
  ],
  'mcp/identity': ['mcp/messages', 'mcp/oauth', 'auth', 'guardrails', 'model'],
  'mcp/resource': ['auth', 'model'],
  'mcp/transfer': ['mcp/messages', 'gateway/transfer', 'http', 'upstream', 'model'],
  'mcp/sessions': ['mcp/messages', 'auth'],
  'mcp/judging': ['mcp/messages', 'guardrails', 'model'],
  'mcp/event-transport': ['mcp/messages', 'mcp/transfer', 'gateway/transfer', 'upstream', 'model'],
  'mcp/legacy-sessions': [
    'http',
    'mcp/event-transport',
    'mcp/messages',
    'mcp/transfer',
    'gateway/transfer',
    'upstream',
    'model',
  ],
  // The bridge knows neither keys nor rules: the plane passes it functions that send and judge.
  'mcp/bridge': [
    'store/records',
    'mcp/event-transport',
    'mcp/legacy-sessions',
    'mcp/rounds',
    'mcp/messages',
    'mcp/streams',
    'mcp/transfer',
    'gateway/transfer',
    'upstream',
    'auth',
    'http',
    'model',
  ],
  'mcp/names': ['mcp/messages', 'mcp/pins', 'model'],
  'mcp/rounds': ['mcp/messages', 'auth', 'store', 'model'],
  'mcp/streams': ['mcp/transfer'],
  'mcp/pins': ['mcp/messages', 'gateway/transfer', 'upstream', 'store', 'model'],
  'mcp/telemetry': ['mcp/messages', 'gateway/logs', 'model'],
  // The MCP gateway shares keys, limits and transfer with the gateway of models.
  'mcp/plane': [
    'mcp/bridge',
    'mcp/event-transport',
    'mcp/judging',
    'mcp/legacy-sessions',
    'mcp/messages',
    'mcp/identity',
    'mcp/oauth',
    'mcp/resource',
    'mcp/sessions',
    'mcp/transfer',
    'mcp/rounds',
    'mcp/names',
    'mcp/streams',
    'mcp/pins',
    'mcp/telemetry',
    'gateway/callers',
    'gateway/logins',
    'gateway/targets',
    'gateway/metering',
    'gateway/logs',
    'gateway/transfer',
    'guardrails',
    'ledger',
    'secret-managers',
    'upstream',
    'auth',
    'http',
    'store',
    'model',
    'remote',
    'clock',
  ],
  jobs: ['jobs/runner', 'ledger', 'objects/*', 'store', 'model', 'settings', 'log', 'clock'],
  'jobs/regions': ['jobs', 'jobs/runner', 'store', 'settings'],
  'jobs/runner': ['store', 'settings', 'log', 'clock'],
  'sync/loop': [
    'sync/status',
    'sync/cycle',
    'sync/apply',
    'sync/plan',
    'sync/server',
    'sync/source',
    'sync/resources',
    'clock',
  ],
  'sync/status': ['sync/cycle', 'sync/server', 'sync/source', 'sync/resources', 'model', 'clock'],
  'sync/cycle': [
    'sync/apply',
    'sync/plan',
    'sync/server',
    'sync/sinks',
    'sync/source',
    'sync/resources',
    'model',
    'clock',
  ],
  'sync/export': ['sync/validation', 'sync/manifest', 'sync/source', 'sync/resources', 'model'],
  'sync/authoring': [
    'sync/manifest',
    'sync/sops',
    'sync/yaml',
    'sync/source',
    'sync/resources',
    'model',
  ],
  'sync/desired': [
    'sync/validation',
    'sync/manifest',
    'sync/overlay',
    'sync/yaml',
    'sync/source',
    'sync/resources',
    'model',
  ],
  'sync/validation': [
    'sync/manifest',
    'sync/overlay',
    'sync/sops',
    'sync/yaml',
    'sync/source',
    'sync/resources',
    'model',
  ],
  'sync/manifest': [
    'sync/overlay',
    'sync/sops',
    'sync/yaml',
    'sync/source',
    'sync/resources',
    'model',
  ],
  'sync/overlay': ['sync/sops', 'sync/yaml', 'sync/source', 'sync/resources', 'model'],
  'sync/yaml': ['sync/source', 'sync/resources'],
  'sync/apply': [
    'sync/plan',
    'sync/diff',
    'sync/server',
    'sync/sinks',
    'sync/resources',
    'model',
    'log',
  ],
  'sync/sinks': ['sync/resources', 'kube', 'vault', 'model'],
  // `http` for the one place that writes the heads of responses.
  'sync/daemon': ['sync/status', 'sync/apply', 'sync/server', 'kube', 'http', 'model', 'clock'],
  'sync/review': [
    'sync/plan',
    'sync/diff',
    'sync/report',
    'sync/server',
    'sync/resources',
    'model',
  ],
  'sync/notify': [
    'sync/status',
    'sync/daemon',
    'sync/server',
    'sync/source',
    'sync/resources',
    'kube',
    'remote',
    'model',
    'clock',
  ],
  'sync/report': ['sync/apply', 'sync/plan', 'sync/diff', 'sync/resources', 'model'],
  'sync/plan': ['sync/diff', 'sync/resources', 'model'],
  'sync/diff': ['sync/resources', 'model'],
  'sync/server': ['sync/resources', 'remote', 'model', 'log', 'clock'],
  'sync/source': ['sync/resources', 'remote', 'log'],
  'sync/sops': ['sync/resources'],
  'sync/resources': ['model'],
  guardrails: [
    'guardrails/calls',
    'guardrails/detectors',
    'guardrails/texts',
    'auth',
    'upstream',
    'model',
  ],
  'guardrails/texts': ['guardrails/calls', 'model'],
  'guardrails/detectors': ['model'],
  // The rooms that use guardrails pass its checks to them.
  'guardrails/models': ['guardrails', 'model'],
  'guardrails/remote': ['guardrails', 'guardrails/texts', 'upstream', 'aws', 'model'],
  ledger: ['ledger/journal', 'ledger/rates', 'store', 'spool', 'model', 'clock'],
  'ledger/journal': ['store'],
  'ledger/rates': [],
  'ledger/regions': ['ledger', 'store', 'model', 'clock'],
  objects: ['store', 'model', 'clock'],
  'objects/responses': ['objects', 'store', 'model', 'clock'],
  'objects/ingestion': ['objects', 'store'],
  'objects/search': ['objects', 'objects/ingestion', 'store', 'model'],
  'objects/semantic': ['objects/ingestion', 'objects/search', 'store'],
  'objects/vectors': [
    'objects',
    'objects/ingestion',
    'objects/search',
    'store',
    'blobs',
    'model',
    'clock',
  ],
  'objects/runs': ['objects', 'store', 'model', 'clock'],
  // The location of a secret manager's value is sealed like the value itself. The other rooms are
  // for the identity provider, which the operator names and which a proxy of the operator may
  // reach.
  auth: ['secret-managers', 'store', 'model', 'settings', 'clock', 'remote'],
  'secret-managers': ['vault', 'upstream', 'remote', 'aws', 'model', 'clock'],
  upstream: ['upstream/*', 'model'],
  'upstream/frames': ['upstream/documents', 'model'],
  'upstream/formats': [
    'upstream/dialects',
    'upstream/gemini',
    'upstream/converse',
    'upstream/messages',
    'upstream/responses',
    'upstream/retrieval',
    'upstream/translation',
    'model',
  ],
  'upstream/responses': ['upstream/translation', 'upstream/documents', 'model'],
  'upstream/gemini': ['upstream/translation', 'upstream/documents', 'model'],
  'upstream/converse': ['upstream/translation', 'upstream/documents', 'model'],
  'upstream/messages': ['upstream/translation', 'upstream/documents', 'model'],
  'upstream/retrieval': ['upstream/translation', 'upstream/documents'],
  'upstream/translation': ['upstream/documents', 'model'],
  'upstream/documents': ['model'],
  'upstream/dialects': ['model'],
  store: ['store/*', 'blobs', 'model', 'settings', 'log'],
  'store/reads': [
    'store/mcp',
    'store/usage',
    'store/resources',
    'store/people',
    'store/prompts',
    'store/rows',
    'store/connection',
    'model',
  ],
  'store/records': [
    'store/logs',
    'store/mcp',
    'store/usage',
    'store/resources',
    'store/rows',
    'store/connection',
    'model',
  ],
  'store/snapshot': ['store/reads', 'store/resources', 'store/rows', 'store/connection'],
  'store/logs': ['store/resources', 'store/rows', 'store/connection', 'model'],
  'store/resources': ['store/usage', 'store/sync', 'store/rows', 'store/connection', 'model'],
  'store/people': ['store/sync', 'store/rows', 'store/connection', 'model'],
  'store/mcp': ['store/rows', 'store/connection', 'model'],
  'store/prompts': ['store/rows', 'store/connection', 'model'],
  'store/objects': ['store/rows', 'store/connection', 'model'],
  'store/sync': ['store/rows', 'store/connection', 'model'],
  'store/usage': ['store/rows', 'store/connection', 'model'],
  'store/regions': ['store/usage', 'store/logs', 'store/rows', 'store/connection', 'model'],
  'store/rows': ['store/connection', 'model'],
  'store/migrations': ['store/connection', 'settings', 'log'],
  'store/connection': ['settings', 'log'],
  http: ['http/*'],
  'http/server': [
    'http/connections',
    'http/input',
    'http/responses',
    'http/routes',
    'model',
    'settings',
    'log',
  ],
  'http/openapi': ['http/input', 'http/responses', 'http/routes', 'model'],
  'http/input': ['http/routes', 'model'],
  'http/responses': ['http/connections', 'http/routes', 'model'],
  'http/routes': ['http/connections', 'model', 'settings'],
  'http/connections': ['model', 'log'],
  spool: [],
  kube: ['remote', 'clock'],
  vault: ['remote', 'clock'],
  // `remote` for reaching registries through the operator's proxy.
  releases: ['remote'],
  blobs: ['remote', 'aws'],
  aws: [],
  remote: ['clock'],
  log: ['settings'],
  ...modelRooms({
    json: [],
    wire: ['json'],
    patterns: ['json', 'wire'],
    services: ['wire'],
    endpoints: ['services'],
    manifests: ['wire'],
    limits: ['json', 'wire'],
    people: ['wire', 'limits'],
    prompts: ['wire'],
    objects: [],
    secrets: ['wire', 'services'],
    guardrails: ['json', 'wire', 'patterns', 'services', 'secrets', 'manifests'],
    configs: ['json', 'wire', 'patterns', 'services', 'secrets', 'manifests', 'guardrails'],
    providers: ['json', 'wire', 'services', 'limits', 'secrets'],
    mcp: ['json', 'wire', 'services', 'secrets', 'guardrails', 'providers'],
    pricing: ['json', 'providers'],
    realtime: ['json'],
    logs: ['wire', 'services', 'endpoints', 'limits', 'pricing'],
    workspaces: ['wire', 'services', 'limits', 'people', 'logs'],
    // The table of kinds loads the spec schema of each kind when it is first used.
    kinds: [
      'json',
      'wire',
      'manifests',
      'limits',
      'people',
      'prompts',
      'secrets',
      'guardrails',
      'configs',
      'providers',
      'mcp',
      'workspaces',
    ],
  }),
  settings: ['settings/*'],
  'settings/groups': ['settings/reading', 'settings/variables'],
  'settings/reading': ['settings/variables'],
  'settings/variables': [],
  clock: [],
};

/** Families of resources share the files in `admin/request`, and never import each other. */
function adminFamilies(...names: readonly string[]): Record<string, readonly string[]> {
  const row = ['admin/request', 'admin/access', 'auth', 'http', 'store', 'model'];
  return Object.fromEntries(names.map((name) => [`admin/${name}`, row]));
}

/** Rooms of the gateway, lowest first. Each may import the rooms before it and those in its list. */
function gatewayRooms(rows: Record<string, readonly string[]>): Record<string, readonly string[]> {
  const names = Object.keys(rows).map((name) => `gateway/${name}`);
  return Object.fromEntries(
    Object.values(rows).map((others, at) => [names[at], [...names.slice(0, at), ...others]]),
  );
}

/** Rooms of the model, which import each other only. */
function modelRooms(rows: Record<string, readonly string[]>): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(rows).map(([name, others]) => [
      `model/${name}`,
      others.map((other) => `model/${other}`),
    ]),
  );
}

const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name));
const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));

/**
 * Returns the folder of a file, at most two levels deep (`sync/plan`), or the file itself when it
 * is directly in src. A file next to a folder of its name (settings.ts, settings/) belongs to that
 * room.
 */
function roomOf(file: string): string {
  const [outer, ...rest] = relative(root, file).split('/');
  const inner = rest.length > 1 ? `${outer}/${rest[0]}` : outer!.replace(/\.ts$/, '');
  return inner;
}

function isAllowed(from: string, to: string): boolean {
  if (from === to || ground.includes(to)) return true;
  const [outer] = to.split('/');
  return (mayImport[from] ?? []).some(
    (room) => room === to || room === `${outer}/*` || (room === outer && !from.startsWith(outer!)),
  );
}

function importsOf(file: string): string[] {
  const source = sources.get(file) ?? '';
  const specifiers = source.matchAll(
    /(?:^|\n)\s*(?:import|export)[^'"`;]*?from\s*'(\.[^']+)'|import\(\s*'(\.[^']+)'\s*\)/g,
  );
  return [...specifiers].map((match) => resolve(dirname(file), (match[1] ?? match[2])!));
}

describe('the import table', () => {
  it('contains every room', () => {
    const known = [...Object.keys(mayImport), ...ground];
    expect([...new Set(files.map(roomOf))].filter((room) => !known.includes(room))).toEqual([]);
  });

  it.each([...files.map((file) => [relative(root, file), file] as const)])(
    'holds for %s',
    (_, file) => {
      const room = roomOf(file);
      const forbidden = importsOf(file).filter((target) => !isAllowed(room, roomOf(target)));
      expect(forbidden.map((target) => relative(root, target))).toEqual([]);
    },
  );

  it('allows no cycle among files, among rooms or among inner rooms', () => {
    const named = files.map((file) => relative(root, file));
    const targetsOf = (file: string): string[] =>
      importsOf(resolve(root, file)).map((target) => relative(root, target));
    expect(circlesAmong(named, targetsOf, (file) => file)).toEqual([]);
    expect(circlesAmong(named, targetsOf, (file) => roomOf(resolve(root, file)))).toEqual([]);
    expect(circlesAmong(named, targetsOf, outerRoomOf)).toEqual([]);
  });
});

function outerRoomOf(file: string): string {
  return file.split('/')[0]!.replace(/\.ts$/, '');
}

/** Import cycles among groups of files. Imports within a group count for files only. */
function circlesAmong(
  names: readonly string[],
  targetsOf: (name: string) => string[],
  groupOf: (name: string) => string,
): string[] {
  const arrows = new Map<string, Set<string>>();
  for (const name of names) {
    const targets = arrows.get(groupOf(name)) ?? new Set();
    for (const target of targetsOf(name).map(groupOf)) {
      if (target !== groupOf(name)) targets.add(target);
    }
    arrows.set(groupOf(name), targets);
  }
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (at: string, path: string[]): void => {
    if (path.includes(at)) circles.push([...path.slice(path.indexOf(at)), at].join(' -> '));
    else if (!done.has(at)) {
      for (const next of arrows.get(at) ?? []) visit(next, [...path, at]);
      done.add(at);
    }
  };
  for (const group of arrows.keys()) visit(group, []);
  return circles;
}

describe('the conventions of the code', () => {
  it('allows no grab-bag or barrel file', () => {
    const banned = /^(utils|util|helpers|types|interfaces|lib|globals|common|misc)\.ts$/;
    expect(files.filter((file) => banned.test(file.split('/').at(-1)!))).toEqual([]);
    const barrels = files.filter((file) =>
      /^export (type )?(\*|\{[^}]*\}) from/m.test(sources.get(file)!),
    );
    expect(barrels).toEqual([]);
  });

  it('rejects received input in one wording, except bytes that are not HTTP', () => {
    const tellers = files.filter((file) => /new ApiError\(\s*'invalid'/.test(sources.get(file)!));
    expect(tellers.map((file) => relative(root, file)).toSorted()).toEqual([
      'http/connections/refusals.ts',
      'model/wire/validation-error.ts',
    ]);
  });

  it('lets no file that declares routes import another one', () => {
    const declares = (file: string): boolean =>
      /^export function \w+Routes?\(/m.test(sources.get(file) ?? '');
    const crossing = files
      .filter((file) => roomOf(file).startsWith('admin/') && declares(file))
      .flatMap((file) =>
        importsOf(file)
          .filter(declares)
          .map((to) => [file, to]),
      )
      .filter(([, to]) => !to!.startsWith(resolve(root, 'admin/request')))
      .map((pair) => pair.map((file) => relative(root, file!)).join(' imports '));
    expect(crossing).toEqual([]);
  });

  it('requires a header comment on the first line of each file', () => {
    const silent = files.filter(
      (file) => !/^(#!.*\n)?\/\*\*(?: |\n \* )\S/.test(sources.get(file)!),
    );
    expect(silent.map((file) => relative(root, file))).toEqual([]);
  });

  it('keeps source that Node itself can parse, because the tests use another parser', () => {
    const unread = files.flatMap((file) => {
      try {
        stripTypeScriptTypes(sources.get(file)!);
        return [];
      } catch (error) {
        return [`${relative(root, file)}: ${(error as Error).message}`];
      }
    });
    expect(unread).toEqual([]);
  });

  it('keeps files at 400 lines, classes at 150 and functions at 70', () => {
    const long = files.filter((file) => sources.get(file)!.split('\n').length > 401);
    expect(long.map((file) => relative(root, file))).toEqual([]);
    const spans = files.flatMap((file) =>
      findLongSpans(file, sources.get(file)!).map((span) => `${relative(root, file)}:${span}`),
    );
    expect(spans).toEqual([]);
  });

  it('keeps folders of src and test at 25 files', () => {
    const project = resolve(root, '..');
    const folders = ['src', 'test']
      .flatMap((folder) =>
        readdirSync(join(project, folder), { recursive: true, withFileTypes: true }),
      )
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('/fixtures/'))
      .map((entry) => relative(project, entry.parentPath));
    const counts = Object.entries(Object.groupBy(folders, (folder) => folder));
    expect(counts.filter(([, names]) => names!.length > 25).map(([folder]) => folder)).toEqual([]);
  });

  it('writes all output through the one module that escapes control sequences for terminals', () => {
    const speakers = files.filter((file) =>
      /process\.(stdout|stderr)\b|\bconsole\.(?:debug|dir|error|info|log|table|trace|warn)\b/.test(
        sources.get(file)!,
      ),
    );
    expect(speakers.map((file) => relative(root, file)).toSorted()).toEqual(['log.ts', 'main.ts']);
    const exact = files.filter((file) => /\.writeExact\(/.test(sources.get(file)!));
    expect(exact.map((file) => relative(root, file)).toSorted()).toEqual([
      'commands/accounts/service-account.ts',
      'commands/changes/export.ts',
      'commands/command-line.ts',
      'commands/completion/completion.ts',
      'commands/manifests/fmt.ts',
      'commands/manifests/new.ts',
      'commands/manifests/render.ts',
      'commands/server/bootstrap.ts',
      'commands/settings.ts',
      'commands/status/get.ts',
    ]);
  });

  it('writes the head of every response in the one place that encodes values from outside', () => {
    const writers = files.filter((file) =>
      /\.(writeHead|setHeaders?|appendHeader)\(|\b(setHeader|appendHeader)\(/.test(
        sources.get(file)!,
      ),
    );
    expect(writers.map((file) => relative(root, file)).toSorted()).toEqual([
      'commands/mock-upstream/mock-exchange.ts',
      'http/responses/response-head.ts',
    ]);
  });

  it('reads the environment in the settings only', () => {
    const readers = files.filter(
      (file) =>
        outerRoomOf(relative(root, file)) !== 'settings' &&
        /process\.env\b/.test(sources.get(file)!),
    );
    expect(readers.map((file) => relative(root, file))).toEqual([]);
  });
});
