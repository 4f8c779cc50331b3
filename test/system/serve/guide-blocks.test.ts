/** Runs the shell blocks of guides beside `gatewright up` in a scratch folder, as a reader does. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { shellBlocksOf } from '../../support/documents/shell-blocks.ts';
import { lendSoftware } from '../../support/server/home.ts';
import { type RunningUp, startUp } from './up-runner.ts';

const root = resolve(import.meta.dirname, '../../..');

interface ShellResult {
  readonly code: number;
  readonly output: string;
}

interface StartedCredentials {
  readonly adminBaseUrl: string;
  readonly inferenceUrl: string;
  readonly organisationApiKey: string;
}

let work: string;
let up: RunningUp;
let addresses: Record<string, string>;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'gatewright-guides-'));
  lendSoftware(join(work, '.gatewright'));
  cpSync(join(root, 'examples'), join(work, 'examples'), { recursive: true });
  mkdirSync(join(work, 'bin'));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${inject('builtProgram')}' "$@"\n`;
  writeFileSync(join(work, 'bin/gatewright'), program, { mode: 0o755 });
  // Only the sources, as npm start runs them, know the quickstart of the clone.
  up = startUp(join(work, '.gatewright'), [], {}, join(root, 'src/main.ts'));
  await up.saw(/^ {2}curl \S+openapi\.json$/m);
  const file = readFileSync(join(work, '.gatewright/credentials.json'), 'utf8');
  const { adminBaseUrl, inferenceUrl, organisationApiKey } = JSON.parse(file) as StartedCredentials;
  addresses = {
    GATEWAY_URL: inferenceUrl.replace(/\/v1$/, ''),
    ADMIN_URL: adminBaseUrl,
    ORGANISATION_KEY: organisationApiKey,
  };
});

afterAll(async () => {
  await up[Symbol.asyncDispose]();
  rmSync(work, { recursive: true, force: true });
});

/** Runs the blocks of one guide in one shell, which ends at the first command that fails. */
function runBlocks(
  blocks: readonly string[],
  env: Record<string, string> = {},
): Promise<ShellResult> {
  const script = blocks.join('\n');
  const path = `${join(work, 'bin')}:${process.env.PATH ?? ''}`;
  const options = { cwd: work, env: { ...addresses, ...env, HOME: work, PATH: path } };
  const { promise, resolve: done } = Promise.withResolvers<ShellResult>();
  execFile('/bin/sh', ['-ec', script], options, (error, stdout, stderr) =>
    done({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
  );
  return promise;
}

/** The blocks of a guide that contain one of `marks`, in the order of the guide. */
function blocksOf(guide: string, marks: readonly string[]): string[] {
  const blocks = shellBlocksOf(readFileSync(join(root, 'docs/guides', guide), 'utf8')).map(
    ({ text }) => text,
  );
  const chosen = blocks.filter((text) => marks.some((mark) => text.includes(mark)));
  expect(chosen).toHaveLength(marks.length);
  return chosen;
}

describe('the five-minute start', () => {
  it('gets an echo, shows the state and plans the changed limit', async () => {
    const [request, look, change] = blocksOf('five-minute-start.md', [
      'GATEWAY_KEY=',
      'gatewright status',
      'gatewright plan',
    ]);
    const { port } = new URL(addresses.GATEWAY_URL!);
    const sent = await runBlocks([request!.replace(':8787', `:${port}`)]);
    expect(sent).toMatchObject({ code: 0 });
    expect(sent.output).toContain('echo: hello');
    const listed = await runBlocks([look!]);
    expect(listed).toMatchObject({ code: 0 });
    expect(listed.output).toMatch(/^support-bot +support /m);
    const planned = await runBlocks([change!]);
    expect(planned.output).toMatch(/spec\.rateLimits\[0\]\.value: 600 → 900 {2}! loosens/);
    expect(planned.code).toBe(2);
  });
});

describe('the guide to GitOps', () => {
  it('applies the first commit and changes nothing afterwards', async () => {
    const marks = ['gatewright new', 'git -C', 'gatewright apply'];
    const done = await runBlocks(blocksOf('gitops.md', marks));
    expect(done, done.output).toMatchObject({ code: 0 });
    expect(done.output).toMatch(/^assistant +team /m);
    const again = 'gatewright plan "file://$PWD/gateway#main" --owner team';
    expect(await runBlocks([again])).toMatchObject({ code: 0 });
  });
});

describe('the guide from Portkey', () => {
  it('creates a config as at Portkey and makes it managed without a change', async () => {
    const [create, own] = blocksOf('from-portkey.md', ['x-portkey-api-key', '--unmanaged']);
    const find =
      'curl --fail -s "$ADMIN_URL/v1/admin/workspaces" -H "x-portkey-api-key: $ORGANISATION_KEY"';
    const { output } = await runBlocks([find]);
    const { data } = JSON.parse(output) as { data: { id: string; name: string }[] };
    const { id } = data.find(({ name }) => name === 'Customer Support')!;
    const done = await runBlocks([create!, own!], { WORKSPACE: id });
    expect(done, done.output).toMatchObject({ code: 0 });
    expect(done.output).toContain('Plan: no changes; 1 unchanged.');
  });
});
