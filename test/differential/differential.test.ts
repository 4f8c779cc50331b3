/** Tests that gatewright interprets configs like the open-source gateway of the same kind, except for listed deviations. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../src/trusted-hosts.ts';
import { startTestServer, testSettings } from '../support/server/server.ts';
import type { Case } from './case.ts';
import { answerCases } from './cases/answers.ts';
import { conditionCases } from './cases/conditions.ts';
import { requestCases } from './cases/requests.ts';
import { routingCases } from './cases/routing.ts';
import { type Deviation, deviations } from './deviations.ts';
import { type Observation, observe } from './observe.ts';
import { startOtherGateway } from './other-gateway.ts';
import { startScriptedUpstream } from './scripted-upstream.ts';

const cases = [...routingCases, ...conditionCases, ...requestCases, ...answerCases];
/** Most cases wait between retries or for a timeout. */
const atOnce = 24;

interface Difference {
  readonly part: string;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/** Observations by case name. */
const differences = new Map<string, readonly Difference[]>();
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  const upstream = stack.use(await startScriptedUpstream());
  const other = stack.use(await startOtherGateway());
  const trusted = readTrustedHosts(upstream.host);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const inference = { ...testSettings().inference, headerAliases: ['x-portkey-'] };
  const server = stack.use(await startTestServer({ settings: { trustedHosts, inference } }));
  const made = await server.request('POST', '/v1/api-keys/organisation/service', {
    body: { name: 'caller', scopes: ['completions.write'] },
  });
  const headers = { 'x-portkey-api-key': made.body.key };
  const pending = [...cases];
  const work = async (): Promise<void> => {
    for (let one = pending.shift(); one !== undefined; one = pending.shift()) {
      const [ours, theirs] = await Promise.all([
        observe(one, { upstream, headers, gateway: server.inferenceUrl }),
        observe(one, { upstream, headers, gateway: other.url }),
      ]);
      differences.set(one.name, compare(ours, theirs));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
});

afterAll(() => stack.disposeAsync());

function compare(ours: Observation, theirs: Observation): Difference[] {
  return Object.keys(ours)
    .map((part) => ({ part, ours: ours[part], theirs: theirs[part] }))
    .filter((one) => !isDeepStrictEqual(one.ours, one.theirs));
}

/** Whether a listed deviation covers this difference. */
function isListed(name: string, difference: Difference): boolean {
  return deviations.some((one) => {
    if (!isOf(one, name) || !one.parts.includes(difference.part)) return false;
    return one.theirs === undefined || isExplained(difference, one.theirs);
  });
}

const isExplained = ({ ours, theirs }: Difference, made: (ours: unknown) => unknown): boolean =>
  isDeepStrictEqual(made(ours), theirs);

const isOf = ({ cases: names }: Deviation, name: string): boolean =>
  names === undefined || names.some((pattern) => matches(pattern, name));

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;

it('has more than 200 cases with unique names', () => {
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  expect(cases.length).toBeGreaterThan(200);
});

describe('as the other gateway:', () => {
  it.each(cases)('$name', ({ name }: Case) => {
    const unlisted = differences.get(name)!.filter((difference) => !isListed(name, difference));
    expect(unlisted).toEqual([]);
  });
});

describe('otherwise than the other gateway:', () => {
  const named = deviations.filter(({ cases: names }) => names !== undefined);

  it.each(named)('$why', ({ cases: names, parts }) => {
    const missing = names!.flatMap((pattern) => {
      const found = cases.filter(({ name }) => matches(pattern, name));
      if (found.length === 0) return [`there is no case ${pattern}`];
      return found.flatMap(({ name }) => {
        const different = differences.get(name)!.map(({ part }) => part);
        const same = parts.filter((part) => !different.includes(part));
        return same.map((part) => `${name} does not differ in ${part}`);
      });
    });
    expect(missing).toEqual([]);
  });

  it.each(deviations.filter((one) => !named.includes(one)))('$why', ({ theirs, parts }) => {
    const explained = [...differences.values()]
      .flat()
      .filter((one) => parts.includes(one.part) && isExplained(one, theirs!));
    expect(explained.length).toBeGreaterThan(0);
  });
});
