/** Verifies the OpenAPI document with Redocly, Spectral, and a typed client that is generated from it. */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exclusionsOf } from '../../src/http/openapi/path-templates.ts';
import { readTrustedHosts } from '../../src/trusted-hosts.ts';
import { exchange } from '../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../support/server/server.ts';
import { startUpstream, type TestUpstream } from '../support/upstream/upstream.ts';
import { createWorkFolder, missingTools, runNode, runTool } from './tools.ts';

const root = resolve(import.meta.dirname, '../..');
const missing = await missingTools();

interface Problem {
  readonly ruleId: string;
  readonly message: string;
}

describe.skipIf(missing !== null)(`the document${missing === null ? '' : ` (${missing})`}`, () => {
  let upstream: TestUpstream;
  let server: TestServer;
  let work: ReturnType<typeof createWorkFolder>;
  let file: string;
  let paths: readonly string[];
  beforeAll(async () => {
    upstream = await startUpstream();
    const trusted = readTrustedHosts(upstream.host);
    server = await startTestServer({
      settings: { trustedHosts: 'hosts' in trusted ? trusted.hosts : [] },
    });
    work = createWorkFolder();
    file = join(work.path, 'openapi.json');
    const { body } = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
    writeFileSync(file, JSON.stringify(body));
    paths = Object.keys(body.paths);
  });
  afterAll(async () => {
    work[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  it('follows the recommended rules of Redocly, except for templates that exclude each other', async () => {
    const words = ['lint', file, '--extends', 'recommended', '--format', 'json'];
    const { output } = await runTool('redocly', [...words, '--max-problems', '1000']);
    const { problems } = JSON.parse(output) as { problems: Problem[] };
    const others = problems.filter(({ ruleId }) => ruleId !== 'no-ambiguous-paths');
    expect(others).toEqual([]);
    const separated = new Set(exclusionsOf(paths).map(({ path }) => path));
    const ambiguous = problems.map(({ message }) => message.match(/(?<=`)\/[^`]+(?=`)/g)!);
    expect(ambiguous.length).toBeGreaterThan(0);
    expect(ambiguous.filter((pair) => !pair.some((path) => separated.has(path)))).toEqual([]);
  });

  it('follows the recommended rules of Spectral', async () => {
    const words = ['lint', file, '--ruleset', '.spectral.yaml', '--format', 'json', '--quiet'];
    const { code, output } = await runTool('spectral', [...words, '--fail-severity', 'hint']);
    expect([code, JSON.parse(output.slice(0, output.lastIndexOf(']') + 1))]).toEqual([0, []]);
  });

  it('yields a typed client that compiles strictly and calls the server', async () => {
    const types = join(work.path, 'schema.ts');
    expect(await runTool('openapi-typescript', [file, '--output', types])).toMatchObject({
      code: 0,
    });
    const client = join(work.path, 'client.ts');
    copyFileSync(join(root, 'test/fixtures/openapi/client.ts.txt'), client);
    const settings = {
      extends: join(root, 'node_modules/@tsconfig/strictest/tsconfig.json'),
      compilerOptions: {
        module: 'nodenext',
        target: 'esnext',
        noEmit: true,
        allowImportingTsExtensions: true,
        types: ['node'],
        typeRoots: [join(root, 'node_modules/@types')],
      },
      files: ['client.ts'],
    };
    writeFileSync(join(work.path, 'tsconfig.json'), JSON.stringify(settings));
    const compiler = join(root, 'node_modules/.bin/tsc');
    const compiled = await runNode([compiler, '-p', work.path]);
    expect(compiled).toEqual({ code: 0, output: '' });
    const called = await runNode([client], {
      ADMIN_URL: server.url,
      INFERENCE_URL: server.inferenceUrl,
      TOKEN: await server.token(),
      UPSTREAM: upstream.url,
    });
    expect(called.code, called.output).toBe(0);
    expect(JSON.parse(called.output)).toMatchObject({
      name: 'generated client',
      code: 'AB08',
      names: ['generated client'],
      tokens: 7,
    });
  });
});
