/** Tests the route table: a method and a path lead to one route, or to none. */
import { describe, expect, it } from 'vitest';
import { RouteTable } from '../../../src/http/routes/route-table.ts';

const table = new RouteTable<string>();
table.add('GET', '/v1/things', 'all');
table.add('GET', '/v1/things/:thingId', 'one');
table.add('GET', '/v1/things/:thingId/parts/:partId', 'part');
table.add('GET', '/v1/things/special/parts', 'special parts');
table.add('PUT', '/v1/things/special', 'special');
table.add('GET', '/', 'root');

describe('a path', () => {
  it.each([
    ['GET', '/', 'root', {}],
    ['GET', '/v1/things', 'all', {}],
    ['GET', '/v1/things/a', 'one', { thingId: 'a' }],
    // An empty item name selects the collection.
    ['GET', '/v1/things/', 'all', {}],
    ['HEAD', '/v1/things/special/parts/', 'special parts', {}],
    ['HEAD', '/v1/things/a', 'one', { thingId: 'a' }],
    ['GET', '/v1/things/a/parts/b', 'part', { thingId: 'a', partId: 'b' }],
    ['GET', '/v1/things/a%2Bb%C3%A4', 'one', { thingId: 'a+bä' }],
    ['GET', '/v1/%74hings/__proto__', 'one', { thingId: '__proto__' }],
    ['GET', '/v1/things/special/parts', 'special parts', {}],
    // A literal segment without continuation counts as a parameter value.
    ['GET', '/v1/things/special/parts/b', 'part', { thingId: 'special', partId: 'b' }],
    ['GET', '/v1/things/special', 'one', { thingId: 'special' }],
    ['PUT', '/v1/things/special', 'special', {}],
    ['GET', `/v1/things/${'x'.repeat(1024)}`, 'one', { thingId: 'x'.repeat(1024) }],
  ])('%s %s leads to one route', (method, path, entry, params) => {
    expect(table.find(method, path)).toEqual({ entry, params });
  });

  it.each([
    ['POST', '/v1/things'],
    ['HEAD', '/v1/things/special/other'],
    ['PUT', '/v1/things/'],
    ['GET', '/v1/things/a/'],
    ['GET', '/v1/things//'],
    ['GET', '/v1/things//parts/b'],
    ['GET', '/V1/things'],
    ['GET', ''],
    ['GET', '/v1'],
    ['GET', '/v1/things/a/parts/b/c'],
    ['GET', `/v1/things/${'x'.repeat(1025)}`],
    ['PUT', '/v1/things/constructor'],
  ])('%s %s leads to no route', (method, path) => {
    expect(table.find(method, path)).toBeNull();
  });
});

it('lists the methods of all routes that match a path, with HEAD next to GET', () => {
  expect(table.methodsOf('/v1/things/special')).toEqual(['GET', 'HEAD', 'PUT']);
  expect(table.methodsOf('/v1/things/other')).toEqual(['GET', 'HEAD']);
  expect(table.methodsOf('/v1/thing')).toEqual([]);
});

it('finds the entry that a path would have with shorter parameters', () => {
  const long = 'x'.repeat(5_000);
  expect(table.findNearest('GET', `/v1/things/${long}`)).toBe('one');
  expect(table.findNearest('HEAD', `/v1/things/${long}/parts/${long}`)).toBe('part');
  expect(table.findNearest('PUT', `/v1/things/${long}`)).toBeNull();
  expect(table.findNearest('POST', `/v1/other/${long}`)).toBeNull();
});
