/**
 * Verifies that a saved plan is applied exactly as it was reviewed, or rejected with the reason.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Fate,
  type FaultyProxy,
  startFaultyProxy,
} from '../../../support/network/faulty-proxy.ts';
import {
  type CommandResult,
  runWords,
  writeCredentials,
} from '../../../support/server/command-line.ts';
import type { TestServer } from '../../../support/server/server.ts';
import {
  canaries,
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;
let folder: string;
/** A separate owner for each test, so that one server is enough. */
let owner: string;
let count = 0;

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  count += 1;
  owner = `team-${count}`;
  folder = mkdtempSync(join(tmpdir(), 'gatewright-saved-'));
  writeCredentials(folder, server);
  setVariables(canaries);
  return () => rmSync(folder, { recursive: true, force: true });
});

function setVariables(variables: Readonly<Record<string, string>>): void {
  const lines = Object.entries({ ...variables, GATEWRIGHT_OWNER: owner });
  write('.env', lines.map(([name, value]) => `${name}=${value}\n`).join(''));
}

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function run(...words: string[]): Promise<CommandResult> {
  return runWords(words, folder);
}

const workspace = (more = '') => `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: w${count}}
${more}---`;
const config = (name: string, weight: number | string) => `
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: ${name}, workspace: w${count}}
spec: {config: {targets: [{provider: openai, weight: ${weight}}]}}
---`;
const integration = `
apiVersion: gatewright.dev/v1
kind: McpIntegration
metadata: {name: crm, workspace: W}
spec:
  {url: 'https://crm.example.com/mcp', authType: headers, transport: http,
   configurations: {custom_headers: {Authorization: {valueFrom: {env: GW_VAR_CRM_TOKEN}}}}}
---`;

/** All resources on the server by owner, kind and name, with their versions. */
async function versions(): Promise<Map<string, number>> {
  const { body } = await server.request('GET', `/admin/v2/gatewright/snapshot?owner=${owner}`);
  return new Map(
    (body.resources as { kind: string; id: string; version: number }[]).map((resource) => [
      `${resource.kind} ${resource.id}`,
      resource.version,
    ]),
  );
}

async function planned(manifests: string, ...words: string[]): Promise<CommandResult> {
  write('gateway/all.yaml', manifests);
  return await run('plan', 'gateway', '--out', 'gw.plan', ...words);
}

async function applied(manifests: string): Promise<void> {
  write('gateway/all.yaml', manifests);
  const { exitCode, stderr } = await run('apply', 'gateway', '--yes');
  expect(stderr).toBe('');
  expect(exitCode).toBe(0);
}

/** Applies the saved plan, expects this failure, and verifies that nothing was written. */
async function refused(...words: string[]): Promise<CommandResult> {
  const before = await versions();
  const result = await run('apply', 'gw.plan', '--yes', ...words);
  expect(await versions()).toEqual(before);
  return result;
}

describe('a saved plan', () => {
  it('is a private file without secrets, and is applied unchanged once', async () => {
    const manifests = everyKind.replaceAll('support', `w${count}`);
    const { exitCode, stderr, stdout } = await planned(manifests);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^Saved to gw\.plan until \S+Z\. To apply it: .* apply gw\.plan\n$/);
    expect(stdout).toContain('Plan: 9 to create');
    expect(statSync(join(folder, 'gw.plan')).mode & 0o777).toBe(0o600);
    const text = readFileSync(join(folder, 'gw.plan'), 'utf8');
    expect(text).not.toContain('canary');
    expect(JSON.parse(text)).toMatchObject({ formatVersion: 1, owner, summary: { create: 9 } });
    const done = await run('apply', 'gw.plan', '--yes');
    expect(done.stdout).toContain('Applied: 9 created');
    expect(done.exitCode).toBe(0);
    expect((await run('plan', 'gateway')).exitCode).toBe(0);
    const again = await refused();
    expect(again.exitCode).toBe(8);
    expect(again.stderr).toContain('gw.plan is stale, nothing was written.');
    expect(again.stderr).toMatch(/To plan again: .* plan gateway --out gw\.plan\n$/);
  });

  it('replaces an older plan file, and no other file', async () => {
    await planned(workspace());
    const older = readFileSync(join(folder, 'gw.plan'), 'utf8');
    await planned(workspace() + config('routing', 1));
    expect(readFileSync(join(folder, 'gw.plan'), 'utf8')).not.toBe(older);
    const other = await run('plan', 'gateway', '--out', 'gateway/all.yaml');
    expect(other.exitCode).toBe(5);
    expect(other.stderr).toContain('gateway/all.yaml');
    expect(other.stderr).toContain('is no plan and is not overwritten');
  });

  it('is not created when a guard refuses the plan, but by the command that permits it', async () => {
    await applied(['a', 'b', 'c', 'd'].map((name) => config(name, 1)).join('') + workspace());
    const { exitCode, stdout } = await planned(workspace());
    expect(exitCode).toBe(4);
    expect(() => statSync(join(folder, 'gw.plan'))).toThrow('ENOENT');
    expect(stdout).toMatch(/plan gateway --out gw\.plan --allow-deletes 4\n/);
    expect((await planned(workspace(), '--allow-deletes', '4')).exitCode).toBe(2);
    const done = await run('apply', 'gw.plan', '--yes');
    expect(done.stdout).toContain('Applied: 4 deleted');
  });

  it('contains the permissions of its creation, which cannot be extended afterwards', async () => {
    await applied(workspace());
    const stored = workspace().replaceAll(`w${count}`, `other-${count}`);
    await planned(stored, '--delete', `Workspace/w${count}`, '--allow-deletes', '1');
    const added = await refused('--allow-deletes', '9');
    expect(added.exitCode).toBe(5);
    expect(added.stderr).toContain('already contains --allow-deletes: pass it to plan --out');
    expect((await refused('--env', 'prod')).stderr).toContain('already contains --env');
    const done = await run('apply', 'gw.plan', '--yes');
    expect(done.stdout).toContain('Applied: 1 created, 1 deleted');
  });
});

it('is applied at its commit of a branch, wherever the branch is now', async () => {
  const git = (...words: string[]): string => {
    const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
    const env = {
      PATH: process.env.PATH,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
    };
    return execFileSync('git', ['-C', folder, ...who, ...words], { env, stdio: 'pipe' }).toString();
  };
  const commit = (text: string): string => {
    write('gateway/all.yaml', text);
    git('add', 'gateway');
    git('commit', '--quiet', '--message=test');
    return git('rev-parse', 'HEAD').trim();
  };
  git('init', '--quiet', '--initial-branch=main');
  const first = commit(workspace() + config('one', 1));
  const location = `file://${folder}#main:gateway`;
  expect((await run('plan', location, '--out', 'gw.plan')).exitCode).toBe(2);
  commit(workspace() + config('two', 1));
  const { exitCode, stdout, stderr } = await run('apply', 'gw.plan', '--yes', '-o', 'json');
  expect(stderr).toBe('');
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ source: { repo: location, sha: first } });
  const { stdout: next } = await run('plan', location);
  expect(next).toContain('+ create Config');
  expect(next).toMatch(/- delete Config\/w\d+\/one/);
});

describe('a stale saved plan with exit code 8', () => {
  const manifests = () => workspace() + integration.replace('W', `w${count}`) + config('one', 1);

  async function live(kind: string): Promise<{ id: string; version: number }> {
    const { body } = await server.request('GET', `/admin/v2/gatewright/snapshot?owner=${owner}`);
    const found = (
      body.resources as {
        kind: string;
        id: string;
        version: number;
        managed_by: { owner: string } | null;
      }[]
    ).find((one) => one.kind === kind && one.managed_by?.owner === owner);
    return found!;
  }

  const causes: Record<string, { change: () => Promise<void> | void; reported: RegExp }> = {
    'a resource that it changes was changed': {
      change: async () => {
        const { id } = await live('Config');
        const { status } = await server.request('PUT', `/v2/configs/${id}`, {
          body: { name: 'by hand' },
        });
        expect(status).toBe(200);
      },
      reported: /Config\/w\d+\/one: was changed on the server \(version 1 then, 2 now\)/,
    },
    'a resource that it changes is gone': {
      change: async () => {
        const { id } = await live('Config');
        await server.request('DELETE', `/v2/configs/${id}`);
      },
      reported: /Config\/w\d+\/one: was to be updated, and is to be created now/,
    },
    'a resource that was right has drifted': {
      change: async () => {
        const { id } = await live('McpIntegration');
        const { status } = await server.request('PUT', `/admin/v2/mcp-integrations/${id}`, {
          body: { name: 'by hand' },
        });
        expect(status).toBe(200);
      },
      reported: /McpIntegration\/w\d+\/crm: would now be updated/,
    },
    'a resource has another owner': {
      change: async () => {
        const words = ['adopt', `Config/w${count}/one`, '--take-ownership', '--owner', 'thief'];
        expect((await run(...words)).exitCode).toBe(0);
      },
      reported: /Config\/w\d+\/one: is held back now: .*"thief"/,
    },
    'the value of a secret is another': {
      change: () => setVariables({ ...canaries, GW_VAR_CRM_TOKEN: 'canary-new' }),
      reported: /McpIntegration\/w\d+\/crm: would now be updated/,
    },
    'a variable is another': {
      change: () => setVariables({ ...canaries, GW_VAR_PROVIDER: 'openai' }),
      reported: /Config\/w\d+\/one: was to be updated, and nothing is to be done now/,
    },
    'a variable is another, and its change, too': {
      change: () => setVariables({ ...canaries, GW_VAR_PROVIDER: 'mistral' }),
      reported: /Config\/w\d+\/one: its manifest has another result now/,
    },
    'its manifests have changed': {
      change: () => write('gateway/all.yaml', `${manifests()}${config('two', 1)}`),
      reported: /the manifests have changed \(sha256:[0-9a-f]{64} then, sha256:[0-9a-f]{64} now\)/,
    },
    'what it writes is suspended': {
      change: async () => {
        expect((await run('suspend', `w${count}`, '--reason', 'freeze')).exitCode).toBe(0);
      },
      reported: /Config\/w\d+\/one: is held back now: .*freeze/,
    },
  };

  it.each(Object.entries(causes))(
    'is rejected once without writing: %s',
    async (_, { change, reported }) => {
      await applied(manifests());
      const provider = `'${'$'}{GW_VAR_PROVIDER:-anthropic}'`;
      const wanted = manifests().replace('provider: openai', `provider: ${provider}`);
      expect((await planned(wanted)).exitCode).toBe(2);
      await change();
      const { exitCode, stderr, stdout } = await refused();
      expect(stderr).toMatch(reported);
      expect(stderr).toContain('gw.plan is stale, nothing was written. Since it was made\n');
      expect(stderr).toMatch(/To plan again: .* plan gateway --out gw\.plan\n$/);
      expect(stderr).not.toContain('canary');
      expect(stdout).toBe('');
      expect(exitCode).toBe(8);
    },
  );
});

it('is rejected when it would send another secret than planned, detected by the source of the secret', async () => {
  await planned(workspace() + integration.replace('W', `w${count}`));
  setVariables({ ...canaries, GW_VAR_CRM_TOKEN: 'canary-new' });
  const { exitCode, stderr } = await refused();
  expect(stderr).toMatch(
    /crm: the secret value of \/configurations\/custom_headers\/Authorization \(env:GW_VAR_CRM_TOKEN\) changed\n/,
  );
  expect(stderr).not.toContain('canary');
  expect(exitCode).toBe(8);
});

it('is applied by one of two concurrent runs', async () => {
  await planned(workspace() + config('one', 1) + config('two', 1));
  const runs = await Promise.all([1, 2].map(() => run('apply', 'gw.plan', '--yes')));
  expect(runs.filter(({ exitCode }) => exitCode === 0)).toHaveLength(1);
  const [late] = runs.filter(({ exitCode }) => exitCode !== 0);
  expect([7, 8]).toContain(late?.exitCode);
  expect((await run('plan', 'gateway')).exitCode).toBe(0);
});

describe('a saved plan during its application', () => {
  let fate: (request: string) => Fate | Promise<Fate>;
  let proxy: FaultyProxy;

  beforeEach(async () => {
    fate = () => 'pass';
    proxy = await startFaultyProxy(server.url, (_, request) => fate(request));
    writeCredentials(folder, server, proxy.url);
    return () => proxy[Symbol.asyncDispose]();
  });

  it('overwrites nothing that changed after the last read, and is stale with exit code 8', async () => {
    await applied(workspace() + config('one', 1));
    await planned(workspace() + config('one', 2));
    const [{ resourceId }] = JSON.parse(readFileSync(join(folder, 'gw.plan'), 'utf8')).changes;
    fate = async (request): Promise<Fate> => {
      const path = `/v2/configs/${resourceId}`;
      const isWrite = request === `PUT ${path}` || /^POST \S*\/changes$/.test(request);
      if (isWrite) await server.request('PUT', path, { body: { name: 'by hand' } });
      return 'pass';
    };
    const { exitCode, stdout } = await run('apply', 'gw.plan', '--yes', '-o', 'json');
    expect(exitCode).toBe(8);
    const reported = JSON.parse(stdout);
    expect(reported).toMatchObject({ exitCode: 8, result: { items: [{ status: 'stale' }] } });
    const now = await server.request('GET', `/v2/configs/${resourceId}`);
    expect(now.body).toMatchObject({ name: 'by hand' });
  });
});

it('is rejected when a part is already applied, and a new plan completes it', async () => {
  await planned(workspace() + config('one', 1) + config('two', 1));
  write('part/all.yaml', workspace() + config('one', 1));
  expect((await run('apply', 'part', '--yes')).exitCode).toBe(0);
  const { exitCode, stderr } = await refused();
  expect(stderr).toMatch(/Config\/w\d+\/one: was to be created, and nothing is to be done now/);
  expect(exitCode).toBe(8);
  const anew = await run('plan', 'gateway', '--out', 'gw.plan');
  expect(anew.stdout).toContain('Plan: 1 to create; 2 unchanged');
  expect((await run('apply', 'gw.plan', '--yes')).exitCode).toBe(0);
});

describe('a rejected saved plan with exit code 5', () => {
  const altered: Record<string, { alter: (text: string) => string; reported: RegExp }> = {
    'it is cut off': {
      alter: (text) => text.slice(0, text.length / 2),
      reported: /gw\.plan is not a complete plan: it is cut off or damaged/,
    },
    'a value in it was changed': {
      alter: (text) => text.replace('"weight":1', '"weight":2'),
      reported: /gw\.plan was changed after it was made/,
    },
    'what it releases was changed': {
      alter: (text) => text.replace('"allowDeletes":null', '"allowDeletes":99'),
      reported: /gw\.plan was changed after it was made/,
    },
    'it leads to other manifests': {
      alter: (text) => text.replace('"paths":["gateway"]', '"paths":["https://127.0.0.1:9/x.git"]'),
      reported: /gw\.plan was changed after it was made/,
    },
    'a field of it is missing': {
      alter: (text) => text.replace(/"madeAt":"[^"]*",/, ''),
      reported: /gw\.plan is not a valid saved plan: it is damaged/,
    },
    'a newer version made it': {
      alter: (text) => text.replace('"formatVersion":1', '"formatVersion":2'),
      reported: /gw\.plan was made by a newer gatewright \(format 2; this one reads 1\)/,
    },
    'a newer version saved it': {
      alter: (text) => text.replace('"saved":{"formatVersion":1', '"saved":{"formatVersion":3'),
      reported: /gw\.plan was made by a newer gatewright \(format 3; this one reads 1\)/,
    },
    'it is of another owner': {
      alter: (text) => text.replace(`"owner":"${owner}"`, '"owner":"other"'),
      reported: /gw\.plan is a plan of owner "other", and this is "team-\d+": give --owner other/,
    },
    'it is for another server': {
      alter: (text) => text.replace(server.url, 'https://gw.example.com'),
      reported:
        /is a plan for the server https:\/\/gw\.example\.com, and the credentials lead to http/,
    },
    'it was only written out': {
      alter: (text) => JSON.stringify({ ...JSON.parse(text), saved: undefined }),
      reported: /gw\.plan is the JSON form of a plan, which is not saved to be applied/,
    },
  };

  it.each(Object.entries(altered))('writes nothing when %s', async (_, { alter, reported }) => {
    await planned(workspace() + config('one', 1));
    const text = readFileSync(join(folder, 'gw.plan'), 'utf8');
    write('gw.plan', alter(text));
    expect(alter(text)).not.toBe(text);
    const { exitCode, stderr, stdout } = await refused();
    expect(stderr).toMatch(reported);
    expect(stdout).toBe('');
    expect(exitCode).toBe(5);
  });

  it('writes nothing when other source locations are given', async () => {
    await planned(workspace());
    const { exitCode, stderr } = await refused('gateway');
    expect(stderr).toContain('gw.plan is a plan, which is applied alone: leave the other 1 out');
    expect(exitCode).toBe(5);
  });
});

describe('a saved plan under random changes', () => {
  const names = ['a', 'b', 'c', 'd'];
  /** Weights by name; 0 means absent. */
  const weights = fc.record(Object.fromEntries(names.map((name) => [name, fc.nat({ max: 2 })])));
  const meddling = fc.array(
    fc.record({
      name: fc.constantFrom(...names),
      how: fc.constantFrom('update', 'delete', 'create'),
    }),
    { maxLength: 2 },
  );

  function manifestsOf(chosen: Readonly<Record<string, number>>): string {
    const there = Object.entries(chosen).filter(([, weight]) => weight > 0);
    return workspace() + there.map(([name, weight]) => config(name, weight)).join('');
  }

  interface ReportedPlan {
    readonly kind: string;
    readonly id: string;
    readonly version: number;
    readonly workspace_id: string | null;
    readonly name: string;
    readonly spec: { readonly config?: { readonly targets: readonly { weight?: number }[] } };
  }

  async function resources(): Promise<{
    within: string | undefined;
    configs: Map<string, ReportedPlan>;
  }> {
    const { body } = await server.request('GET', `/admin/v2/gatewright/snapshot?owner=${owner}`);
    const all = body.resources as ReportedPlan[];
    const within = all.find(({ kind, name }) => kind === 'Workspace' && name === `w${count}`)?.id;
    const configs = all.filter((one) => one.kind === 'Config' && one.workspace_id === within);
    return { within, configs: new Map(configs.map((one) => [one.name, one])) };
  }

  async function meddle(name: string, how: string): Promise<void> {
    const { within, configs } = await resources();
    const id = configs.get(name)?.id;
    const content = { targets: [{ provider: 'x', weight: 9 }] };
    if (how === 'create' && id === undefined) {
      const body = { name, workspace_id: within, config: content };
      expect((await server.request('POST', '/v2/configs', { body })).status).toBe(200);
    } else if (how === 'update' && id !== undefined) {
      const body = { config: content };
      expect((await server.request('PUT', `/v2/configs/${id}`, { body })).status).toBe(200);
    } else if (how === 'delete' && id !== undefined) {
      expect((await server.request('DELETE', `/v2/configs/${id}`)).status).toBe(200);
    }
  }

  it('writes exactly its contents or nothing', async () => {
    const endings: number[] = [];
    await fc.assert(
      fc.asyncProperty(weights, weights, meddling, async (before, wanted, steps) => {
        count += 1;
        owner = `team-${count}`;
        setVariables(canaries);
        await applied(manifestsOf(before));
        await planned(manifestsOf(wanted), '--allow-deletes', '9');
        const { changes } = JSON.parse(readFileSync(join(folder, 'gw.plan'), 'utf8'));
        for (const { name, how } of steps) await meddle(name, how);
        const then = (await resources()).configs;
        const { exitCode } = await run('apply', 'gw.plan', '--yes');
        const now = (await resources()).configs;
        endings.push(exitCode);
        expect([0, 8]).toContain(exitCode);
        const reported = new Map<string, string>(
          exitCode === 0
            ? (changes as { name: string; action: string }[]).map(({ name, action }) => [
                name,
                action,
              ])
            : [],
        );
        for (const name of names) {
          const action = reported.get(name);
          if (action === undefined) expect(now.get(name)).toEqual(then.get(name));
          else if (action === 'delete') expect(now.get(name)).toBeUndefined();
          else expect(now.get(name)?.spec.config?.targets[0]?.weight).toBe(wanted[name]);
        }
      }),
      {
        numRuns: 6,
        // One seed that applies and one that is rejected, beside the random ones.
        examples: [
          [{ a: 1, b: 1, c: 0, d: 0 }, { a: 2, b: 1, c: 1, d: 0 }, []],
          [{ a: 1, b: 1, c: 1, d: 0 }, { a: 2, b: 1, c: 0, d: 0 }, [{ name: 'a', how: 'update' }]],
        ],
      },
    );
    expect(new Set(endings)).toEqual(new Set([0, 8]));
  });
});
