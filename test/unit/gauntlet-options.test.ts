/** Tests the command line of the gauntlet. */
import { expect, it } from 'vitest';
import { readOptions } from '../gauntlet/options.ts';

it('runs ten minutes at 300 requests a second with a random seed by default', () => {
  expect(readOptions([])).toEqual({
    seed: null,
    minutes: 10,
    rate: 300,
    database: null,
    faults: null,
    replay: null,
    narrows: false,
    isPlanOnly: false,
    report: null,
    logs: null,
  });
});

it.each([
  ['--minutes', 'ten'],
  ['--minutes', '0'],
  ['--seed', '1.5'],
  ['--seed', '-1'],
  ['--rate', ''],
  ['--database', 'oracle'],
])('refuses %s %s, and names the option', (name, value) => {
  expect(() => readOptions([`${name}=${value}`])).toThrow(name);
});

it.each(['mariadb', 'mysql', 'galera', 'vitess', 'mysql://root:x@127.0.0.1:3306'])(
  'takes %s as the database',
  (database) => {
    expect(readOptions(['--database', database])).toMatchObject({ database });
  },
);

it('refuses to narrow a plan that is not that of a report', () => {
  expect(() => readOptions(['--narrow'])).toThrow('--replay');
});

it('refuses options that it does not know', () => {
  expect(() => readOptions(['--minuets', '3'])).toThrow('--minuets');
});
