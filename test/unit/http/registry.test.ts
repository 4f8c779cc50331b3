/** Checks that an invalid route prevents the start of the server. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Failure } from '../../../src/failure.ts';
import { checkRoutes, mountRoutes } from '../../../src/http/routes/registry.ts';
import type { Route } from '../../../src/http/routes/route.ts';

const sound: Route<never> = {
  method: 'GET',
  path: '/things/:thingId',
  mounts: { v1: ['api-key'] },
  scope: 'things.read',
  summary: 'Read a thing',
  response: z.object({}),
  handle: () => Promise.resolve({}),
};
const open: Route<never> = {
  ...sound,
  path: '/livez',
  mounts: { root: ['none'] },
  scope: undefined,
};

function check(guarded: Route<never>[], publicRoutes: Route<never>[] = []): string {
  try {
    checkRoutes(mountRoutes(guarded), mountRoutes(publicRoutes));
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(Failure);
    return (error as Failure).message;
  }
}

describe('the route registry', () => {
  it('accepts valid routes', () => {
    expect(check([sound], [open])).toBe('');
  });

  it.each<[string, Route<never>, string]>([
    ['no mount', { ...sound, mounts: {} }, 'has no credential rule'],
    ['no credential rule', { ...sound, mounts: { v2: [] } }, 'GET /v2/things/:thingId has no cred'],
    ['no scope rule', { ...sound, scope: undefined }, 'has no scope rule'],
    [
      'no response schema',
      { ...sound, response: undefined as unknown as z.ZodType },
      'has no response schema',
    ],
    ['a path without a slash', { ...sound, mounts: { root: ['api-key'] }, path: 'x' }, 'slash'],
    ['public access next to a key', { ...sound, mounts: { v1: ['none', 'api-key'] } }, 'mixes'],
  ])('rejects a route that has %s', (_, route, message) => {
    expect(check([route])).toContain(message);
  });

  it('rejects two routes that take the same requests', () => {
    const twin = { ...sound, path: '/things/:slug' };
    expect(check([sound, twin])).toContain('GET /v1/things/:slug is declared twice');
  });

  it('rejects a guarded route among the public ones', () => {
    expect(check([], [sound])).toContain('is not public');
  });

  it('names every fault before it stops', () => {
    const message = check([
      { ...sound, scope: undefined },
      { ...sound, path: '/x', mounts: {} },
    ]);
    expect(message.split('\n')).toHaveLength(3);
  });
});
