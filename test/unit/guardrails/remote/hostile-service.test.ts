/** Verifies that deadline, breaker and fail mode hold against a service that lies, stalls and dies. */
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type CheckBench,
  chat,
  type LocalService,
  openBench,
  startService,
} from '../../../support/guardrails/local-service.ts';

let service: LocalService;
let bench: CheckBench;
let now = 1_000;

const secret = 'canary-credential-of-the-check';
const allow = { action: 'allow', timeout: false, error: false };
const check = (parameters: object = {}) => ({
  id: 'panw-prisma-airs.intercept',
  parameters: {
    endpoint: service.url,
    credentials: { AIRS_API_KEY: secret },
    ...parameters,
  },
});
const deny = { deny: true };

beforeAll(async () => {
  service = await startService(() => allow);
});

beforeEach(async () => {
  service.arrivals.length = 0;
  service.script = () => allow;
  now = 1_000;
  bench = openBench({ clock: () => now });
});

afterAll(() => service[Symbol.asyncDispose]());

/** Answers with raw bytes. */
const answers = (body: string | Buffer, status = 200, headers = {}) => {
  service.script = (_, response) => {
    response.writeHead(status, headers).end(body);
    return null;
  };
};

const misbehaves = (act: (response: ServerResponse) => void) => {
  service.script = (_, response) => {
    act(response);
    return null;
  };
};

describe('a service that lies', () => {
  it.each([
    ['no JSON', 'yes, of course'],
    ['a list', '[{"action":"allow"}]'],
    ['null', 'null'],
    ['an empty object', '{}'],
    ['a verdict of another type', '{"action":true}'],
    ['an inherited member', '{"__proto__":{"action":"allow"}}'],
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['deeply nested JSON', '['.repeat(300_000)],
    ['nothing', ''],
    ['more values than a turn can read', `{"action":"allow","a":[${'[],'.repeat(300_000)}1]}`],
    ['values in the depth', `{"action":"allow","a":${'['.repeat(101)}${']'.repeat(101)}}`],
    ['an error body with the status 200', '{"error":{"message":"overloaded"}}'],
    ['two objects', '{"action":"allow"}{"action":"allow"}'],
    ['another case', '{"Action":"allow"}'],
  ])('gives no verdict by %s', async (_, body) => {
    answers(body);
    const judged = await bench.judge(check(), chat('x'), {}, deny);
    expect(judged).toMatchObject({ isDenied: true, data: null });
    expect(judged.error).toMatch(/^Prisma AIRS returned /);
  });

  it.each([201, 301, 400, 401, 403, 404, 429, 500, 503])(
    'gives no verdict by status %d, whatever the body says',
    async (status) => {
      const body = status === 201 ? 'x' : JSON.stringify(allow);
      answers(body, status, { location: `${service.url}/elsewhere` });
      const judged = await bench.judge(check(), chat('x'), {}, deny);
      expect(judged.isDenied).toBe(true);
      expect(judged.error).toMatch(/^Prisma AIRS (returned|refuses)/);
    },
  );

  it('cannot quote credentials or texts in the results', async () => {
    answers(
      JSON.stringify({
        action: 'block',
        category: secret,
        prompt_detected: {
          [secret]: true,
          [`${secret}-more`]: true,
          'the text\n': true,
          dlp: true,
        },
      }),
    );
    const judged = await bench.judge(check(), chat('the text'), {}, deny);
    expect(judged.results).not.toContain(secret);
    expect(judged.data).toMatchObject({ data: { findings: ['dlp'] } });
  });

  it('cannot quote credentials in an error', async () => {
    answers(`{"error":"${secret}"}`, 500);
    const judged = await bench.judge(check(), chat('x'), {}, deny);
    expect(judged.results).not.toContain(secret);
  });

  it('gives no verdict by a compressed answer, which nobody has asked for', async () => {
    answers(gzipSync(JSON.stringify({ ...allow, padding: ' '.repeat(50_000_000) })), 200, {
      'content-encoding': 'gzip',
    });
    expect(await bench.judge(check(), chat('x'), {}, deny)).toMatchObject({ isDenied: true });
  });

  it('cannot make the gateway keep a huge answer', async () => {
    misbehaves((response) => {
      response.writeHead(200);
      const piece = Buffer.alloc(1024 * 1024, ' ');
      const write = (): void => {
        while (response.write(piece)) if (response.destroyed) return;
      };
      response.on('drain', write);
      write();
    });
    const judged = await bench.judge(check(), chat('x'), {}, deny);
    expect(judged.isDenied).toBe(true);
    expect(judged.error).toMatch(/^Prisma AIRS: the answer has more than \d+ bytes$/);
  });
});

describe('a service that stalls', () => {
  it.each([
    ['before the head', () => undefined],
    ['within the head', (response: ServerResponse) => void response.socket!.write('HTTP/1.1 200 ')],
    ['within the body', (response: ServerResponse) => void response.writeHead(200).write('{"act')],
  ])('gives no verdict after the time limit of the check: %s', async (_, act) => {
    misbehaves(act);
    const judged = await bench.judge(check({ timeout: 50 }), chat('x'), {}, deny);
    expect(judged.isDenied).toBe(true);
    expect(judged.error).toBe('Prisma AIRS: there was no answer within 50 ms');
    expect(service.arrivals).toHaveLength(1);
  });

  it('sends no further request once the time of all requests of a text is over', async () => {
    service.script = () => {
      now += 6_000;
      return allow;
    };
    const text = 'word '.repeat(2_000_000);
    const judged = await bench.judge(check({ timeout: 5_000 }), chat(text), {}, deny);
    expect(judged.error).toBe('Prisma AIRS gave no answer in time');
    expect(service.arrivals.length).toBeLessThan(6);
  });
});

describe('a service that drips', () => {
  it('gives no verdict after the time limit, however often a byte arrives', async () => {
    let drip: NodeJS.Timeout | undefined;
    misbehaves((response) => {
      response.writeHead(200);
      drip = setInterval(() => response.write(' '), 5);
      response.once('close', () => clearInterval(drip));
    });
    const judged = await bench.judge(check({ timeout: 80 }), chat('x'), {}, deny);
    clearInterval(drip);
    expect(judged.isDenied).toBe(true);
    expect(judged.error).toBe('Prisma AIRS: there was no answer within 80 ms');
  });
});

describe('a service that changes its mind', () => {
  it('is not heard while a verdict is reused, and its new verdict counts afterwards', async () => {
    service.script = () => ({ action: 'block' });
    expect(await bench.judge(check(), chat('a flip'), {}, deny)).toMatchObject({ isDenied: true });
    service.script = () => allow;
    expect(await bench.judge(check(), chat('a flip'), {}, deny)).toMatchObject({ isDenied: true });
    now += 61_000;
    expect(await bench.judge(check(), chat('a flip'), {}, deny)).toMatchObject({ isDenied: false });
  });

  it('fails a long text for good when one of its pieces fails, whatever it says of the others', async () => {
    let count = 0;
    service.script = () => {
      count += 1;
      return count === 2 ? { action: 'block' } : allow;
    };
    const judged = await bench.judge(check(), chat('word '.repeat(1_000_000)), {}, deny);
    expect(judged.isDenied).toBe(true);
  });
});

describe('a service that dies', () => {
  it('gives no verdict when its name cannot be resolved', async () => {
    const endpoint = 'https://no-such-host.invalid';
    const judged = await bench.judge(check({ endpoint }), chat('x'), {}, deny);
    expect(judged.isDenied).toBe(true);
    expect(judged.error).toMatch(/^Prisma AIRS: the address cannot be reached/);
  });

  it('gives no verdict when it resets the connection within each answer', async () => {
    misbehaves((response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"action":');
      setImmediate(() => response.socket!.resetAndDestroy());
    });
    const judged = await bench.judge(check(), chat('x'), {}, deny);
    expect(judged).toMatchObject({ isDenied: true, data: null });
  });

  it('is asked once more when it closes the connection without an answer', async () => {
    let count = 0;
    service.script = (_, response) => {
      count += 1;
      if (count > 1) return allow;
      response.socket!.destroy();
      return null;
    };
    expect(await bench.judge(check(), chat('x'), {}, deny)).toMatchObject({ verdict: true });
    expect(service.arrivals).toHaveLength(2);
  });

  it('gives no verdict when it dies within each answer', async () => {
    misbehaves((response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"action":"allow"}');
      setImmediate(() => response.socket!.destroy());
    });
    const judged = await bench.judge(check(), chat('x'), {}, deny);
    expect(judged).toMatchObject({ isDenied: true, data: null });
    expect(service.arrivals).toHaveLength(2);
  });

  it('gives no verdict when nothing listens', async () => {
    const endpoint = 'http://127.0.0.1:9';
    const judged = await bench.judge(check({ endpoint }), chat('x'), {}, deny);
    expect(judged.isDenied).toBe(true);
    expect(judged.error).toMatch(/^Prisma AIRS: the address cannot be reached/);
  });

  it('gives no verdict at an address that is not trusted', async () => {
    const endpoint = 'http://10.0.0.1';
    const judged = await bench.judge(check({ endpoint }), chat('x'), {}, deny);
    expect(judged.error).toMatch(/must not name a private/);
  });
});

describe('the fail mode', () => {
  it.each([
    [{}, {}, true],
    [{}, { deny: true }, false],
    [{}, { deny: true, on_unsupported: 'pass' }, true],
    [{ failOnError: false }, { deny: true }, true],
    [{ failOnError: true }, {}, false],
    [{ failOnError: false }, { fail_closed: true }, false],
  ])('decides what follows: %j, %j: %s', async (parameters, actions, passes) => {
    answers('', 500);
    const judged = await bench.judge(check(parameters), chat('x'), {}, actions);
    expect(judged.verdict).toBe(passes);
    expect(judged.error).toBe('Prisma AIRS returned status 500');
  });
});

describe('the breaker', () => {
  const fail = async (times: number, more: object = {}) => {
    answers('', 500);
    for (let at = 0; at < times; at += 1) await bench.judge(check(), chat(`x ${at}`), more, deny);
  };
  const other = { tenant: { organisationId: 'organisation-2', workspaceId: null } };

  it('asks a service no more after five failures in a row', async () => {
    await fail(5);
    expect(service.arrivals).toHaveLength(5);
    service.script = () => allow;
    const judged = await bench.judge(check(), chat('y'), {}, deny);
    expect(judged.isDenied).toBe(true);
    expect(judged.error).toBe(
      'Prisma AIRS has failed repeatedly and is asked again in some seconds',
    );
    expect(service.arrivals).toHaveLength(5);
  });

  it('asks it once after the pause, and again as usual when that succeeds', async () => {
    await fail(5);
    now += 10_000;
    await bench.judge(check(), chat('still down'), {}, deny);
    await bench.judge(check(), chat('not asked'), {}, deny);
    expect(service.arrivals).toHaveLength(6);
    now += 10_000;
    service.script = () => allow;
    expect(await bench.judge(check(), chat('a'), {}, deny)).toMatchObject({ verdict: true });
    expect(await bench.judge(check(), chat('b'), {}, deny)).toMatchObject({ verdict: true });
    expect(service.arrivals).toHaveLength(8);
  });

  it('pauses the service for no other organisation', async () => {
    await fail(6);
    service.script = () => allow;
    expect(await bench.judge(check(), chat('z'), other, deny)).toMatchObject({ verdict: true });
  });

  it('counts no refusal of a request as a failure', async () => {
    answers('', 400);
    for (let at = 0; at < 7; at += 1) await bench.judge(check(), chat(`x ${at}`), {}, deny);
    expect(service.arrivals).toHaveLength(7);
  });
});

describe('the cache of verdicts', () => {
  const scores = (score: number) =>
    ['PROMPT_INJECT', 'TOXIC', 'EVASION'].map((category) => ({
      category,
      score: category === 'TOXIC' ? score : 0,
    }));
  const severities = (severity: number) =>
    ['Hate', 'SelfHarm', 'Sexual', 'Violence'].map((category) => ({ category, severity }));
  const judge = (text: string, parameters = {}, more = {}) =>
    bench.judge(check(parameters), chat(text), more);
  const requestCount = () => service.arrivals.length;

  it('asks once for the same text until the time is over', async () => {
    await judge('same');
    await judge('same', {}, { traceId: 'trace-2' });
    expect(requestCount()).toBe(1);
    now += 61_000;
    await judge('same');
    expect(requestCount()).toBe(2);
  });

  it.each([
    ['another text', 'others', {}, {}],
    ['another credential', 'same', { credentials: { AIRS_API_KEY: 'another-key' } }, {}],
    ['another profile', 'same', { profile_name: 'other' }, {}],
    ['another organisation', 'same', {}, { tenant: { organisationId: 'b', workspaceId: null } }],
    ['another model', 'same', {}, { model: 'gpt-5' }],
    ['no organisation', 'same', {}, { tenant: undefined }],
  ])('never answers for %s', async (_, text, parameters, more) => {
    await judge('same');
    await judge(text, parameters, more);
    expect(requestCount()).toBe(2);
  });

  it.each<[string, object, object, object]>([
    [
      'sydelabs.sydeguard',
      { credentials: { apiKey: secret } },
      { toxicity_threshold: 0.9 },
      { category_scores: scores(0.8) },
    ],
    [
      'azure.contentSafety',
      { credentials: { resourceName: 'r', apiKey: secret } },
      { severity: 6 },
      { categoriesAnalysis: severities(4) },
    ],
    [
      'portkey.moderateContent',
      { credentials: { apiKey: secret }, categories: ['hate', 'violence'] },
      { categories: ['hate'] },
      { results: [{ categories: { hate: false, violence: true } }] },
    ],
    [
      'f5-guardrails.scan',
      { credentials: { apiKey: secret } },
      { redact: true },
      { result: { outcome: 'redacted' }, redactedInput: '#' },
    ],
  ])('never answers for a stricter %s that sends the same', async (id, strict, lax, answer) => {
    service.script = () => answer;
    const judgeBy = (parameters: object) =>
      bench.judge({ id, parameters: { endpoint: service.url, ...parameters } }, chat('same'));
    expect(await judgeBy({ ...strict, ...lax })).toMatchObject({ verdict: true });
    expect(await judgeBy(strict)).toMatchObject({ verdict: false, error: undefined });
    const [first, second] = service.arrivals;
    expect(second!.raw).toBe(first!.raw);
  });

  it('answers for no check that accepts only newer verdicts', async () => {
    await judge('newer', { cacheSeconds: 3_600 });
    now += 10_000;
    for (const cacheSeconds of [5, 0]) await judge('newer', { cacheSeconds });
    expect(requestCount()).toBe(3);
  });

  it('keeps a failure, and no error', async () => {
    answers('', 400);
    await judge('kept');
    service.script = () => ({ action: 'block' });
    expect(await judge('kept')).toMatchObject({ verdict: false });
    service.script = () => allow;
    expect(await judge('kept')).toMatchObject({ verdict: false });
  });

  it('is off for a check with cacheSeconds 0', async () => {
    await judge('off', { cacheSeconds: 0 });
    await judge('off', { cacheSeconds: 0 });
    expect(requestCount()).toBe(2);
  });
});

describe('a long text', () => {
  it('is judged in pieces, each within the limit, and fails when one of them fails', async () => {
    const text = `${'word '.repeat(1_000_000)} the end`;
    service.script = ({ body }) =>
      body.contents[0].prompt.includes('the end') ? { action: 'block' } : allow;
    const judged = await bench.judge(check(), chat(text), {}, deny);
    expect(judged).toMatchObject({ verdict: false, error: undefined });
    const lengths = service.arrivals.map(({ body }) => Buffer.byteLength(body.contents[0].prompt));
    expect(lengths.length).toBe(3);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(2 * 1024 * 1024);
  });

  it('fails when one piece fails, although another one could not be judged', async () => {
    const text = `${'word '.repeat(1_000_000)} the end`;
    service.script = ({ body }, response) => {
      if (body.contents[0].prompt.includes('the end')) return { action: 'block' };
      response.writeHead(400).end();
      return null;
    };
    const judged = await bench.judge(check(), chat(text), {}, { on_unsupported: 'pass' });
    expect(judged).toMatchObject({ verdict: false, error: undefined });
  });

  it('gives no verdict when it needs too many requests', async () => {
    const messages = Array.from({ length: 70 }, () => ({ role: 'user', content: 'x' }));
    const parameters = { redact: true, scan_scope: 'all_messages' };
    const judged = await bench.judge(check(parameters), { messages }, {}, deny);
    expect(judged.error).toBe('the text needs 70 requests to Prisma AIRS; at most 64 are sent');
    expect(service.arrivals).toHaveLength(0);
  });
});
