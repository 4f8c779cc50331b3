/** Runs `npm run fuzz`: generated requests against the product, or coverage-guided fuzzing of parsers. */
import { parseArgs } from 'node:util';
import {
  externalDatabaseServer,
  startTestDatabaseServer,
} from '../support/database/database-server.ts';
import { fuzzParser } from './parsers/fuzz-parser.ts';
import { allTargets } from './parsers/targets/all-targets.ts';
import { failureText, fuzzRequests } from './requests/fuzz-requests.ts';
import { startProduct } from './requests/product.ts';

const minuteMs = 60_000;
const usage =
  'npm run fuzz -- [requests|parsers] [--seed N] [--requests N] [--minutes M] [--parser NAME] [--keep]';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    requests: { type: 'string', default: '200000' },
    minutes: { type: 'string' },
    parser: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

function numberOf(name: 'seed' | 'requests' | 'minutes'): number | null {
  const text = values[name];
  if (text === undefined) return null;
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new Error(`--${name} takes a number above 0, not ${text}; usage: ${usage}`);
}

async function runRequests(seed: number): Promise<number> {
  const minutes = numberOf('minutes');
  const external = externalDatabaseServer(process.env.TEST_DATABASE_URL);
  const { server, stop } = external ?? (await startTestDatabaseServer());
  try {
    await using product = await startProduct(server);
    const began = performance.now();
    const result = await fuzzRequests(product, {
      seed,
      requests: numberOf('requests')!,
      untilMs: minutes === null ? null : began + minutes * minuteMs,
      progress: console.error,
    });
    for (const failure of result.failures) console.log(failureText(failure));
    const { failures, ...figures } = result;
    const seconds = Math.round((performance.now() - began) / 1_000);
    console.log(JSON.stringify({ seed, ...figures, seconds, failures: failures.length }));
    return failures.length === 0 && product.ending() === null ? 0 : 1;
  } finally {
    await stop();
  }
}

/** Each parser gets this time unless the command line says otherwise. */
const parserMinutes = 2;

async function runParsers(seed: number): Promise<number> {
  const named = allTargets.filter(
    ({ name }) => values.parser === undefined || name === values.parser,
  );
  if (named.length === 0) {
    const names = allTargets.map(({ name }) => name).join(', ');
    throw new Error(`--parser takes one of ${names}, not ${values.parser}`);
  }
  let crashes = 0;
  for (const target of named) {
    const minutes = numberOf('minutes') ?? parserMinutes;
    const result = await fuzzParser(target, { seed, minutes, keeps: values.keep });
    for (const { fault, file } of result.crashes)
      console.log(`FAILED ${target.name}: ${fault}\n  ${file}`);
    console.log(JSON.stringify({ seed, ...result, crashes: result.crashes.length }));
    crashes += result.crashes.length;
  }
  return crashes === 0 ? 0 : 1;
}

const [kind = 'requests', ...others] = positionals;
if (!['requests', 'parsers'].includes(kind) || others.length > 0) {
  throw new Error(`unknown words ${positionals.join(' ')}; usage: ${usage}`);
}
const seed = numberOf('seed') ?? Date.now() % 1_000_000_000;
console.error(`seed ${seed}`);
process.exitCode = await (kind === 'requests' ? runRequests(seed) : runParsers(seed));
